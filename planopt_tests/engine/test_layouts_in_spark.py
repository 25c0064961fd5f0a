"""Layouts on real Delta tables: tried on clones, put on tables, taken back. The source of a trial keeps every byte."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable as Rust
from deltalake import write_deltalake

from planopt_assets.delta.log_files import LogFiles
from planopt_assets.delta.own_commits import changes_rows, rows_head
from planopt_assets.engine.delta.clones import Clones
from planopt_assets.engine.delta.delta_log import read_table_facts
from planopt_assets.engine.delta.pins import Pins
from planopt_assets.engine.delta.rewriting import rewrite
from planopt_assets.engine.delta.undoing import put_back, restore
from planopt_assets.errors import LayoutNotTried, UndoRefused
from planopt_assets.model.inputs import PinnedTable
from planopt_assets.model.layout_proposal import LayoutProposal

pytestmark = pytest.mark.spark


def bytes_of(folder: Path) -> dict[str, str]:
    """Every file of a table with its hash, log and checksums included."""
    files = (f for f in sorted(folder.rglob("*")) if f.is_file())
    return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


@pytest.fixture
def sales(tables: Path) -> Path:
    return tables / "data" / "sales"


@pytest.fixture
def pinned(sales: Path) -> PinnedTable:
    return Pins().pin("sales", str(sales))


def layout(table: PinnedTable, action: Any = "compact", **more: Any) -> LayoutProposal:
    return LayoutProposal(table.name, table.table_id, table.version, action, **more)


def rows(spark: Any, location: Any) -> list[Any]:
    return sorted(spark.read.format("delta").load(str(location)).collect())


def files_of(location: str | Path) -> int:
    return len(Rust(str(location)).file_uris())


def append(table: Path) -> None:
    three = pa.table({"id": [-1, -2, -3], "shop": [1, 1, 1], "amount": [0.5] * 3, "note": ["x"] * 3})
    write_deltalake(table, three, mode="append")


LAYOUTS: dict[str, Callable[[PinnedTable], LayoutProposal]] = {
    "compact": lambda t: layout(t, target_file_bytes=1 << 25),
    "zorder": lambda t: layout(t, "zorder", columns=("shop",), target_file_bytes=12_000),
    "statistics": lambda t: layout(t, "statistics", properties=(("delta.dataSkippingStatsColumns", "id,shop"),)),
    "properties": lambda t: layout(t, "properties", properties=(("delta.autoOptimize.autoCompact", "auto"),)),
    "checkpoint": lambda t: layout(t, "checkpoint"),
    "bloom": lambda t: layout(t, "bloom", columns=("id",), target_file_bytes=1 << 25),
    "cluster": lambda t: layout(t, "cluster", columns=("shop",)),  # Z-order is refused after it
}


def test_layouts_on_a_clone_leave_every_byte_of_the_source(
    spark, tables: Path, sales: Path, pinned: PinnedTable
) -> None:
    before, expected = bytes_of(sales), rows(spark, sales)
    clones = Clones(str(tables / "store"))
    with clones.cloned(spark, pinned, "c-1") as clone:
        for number, make in enumerate(LAYOUTS.values()):
            rewrite(spark, clone.location, make(clone), f"mnt-{number}")
            assert rows(spark, clone.location) == expected
        assert clones.sweep() == []  # it is in use
        assert [m.needs for m in clones.marks()] == [{pinned.location: 5}]
        found = read_table_facts("sales", clone.location)
        assert dict(found.properties)["delta.autoOptimize.autoCompact"] == "auto"
        assert found.clustering_columns == ("shop",)  # which raises the protocol; nothing else above does
        assert found.protocol.min_writer == 7
    assert bytes_of(sales) == before
    assert not list((tables / "store" / "_clones").iterdir())


def test_a_clone_is_of_the_pinned_version(spark, tables: Path, sales: Path) -> None:
    old = PinnedTable("sales", str(sales), read_table_facts("sales", str(sales)).table_id, 2)
    with Clones(str(tables / "store")).cloned(spark, old, "c-2") as clone:
        assert len(rows(spark, clone.location)) == 900
        assert clone.table_id != old.table_id


def test_compaction_makes_one_file_and_says_what_it_did(spark, sales: Path, pinned: PinnedTable) -> None:
    done, attempts = rewrite(spark, str(sales), LAYOUTS["compact"](pinned), "mnt-1")
    assert done is not None
    assert (done.first, done.last, done.files_removed, done.files_added, attempts) == (6, 6, 6, 1, 1)
    assert done.bytes_removed > done.bytes_added > 0
    assert not done.changes_rows
    again, _ = rewrite(spark, str(sales), LAYOUTS["compact"](pinned), "mnt-2")
    assert again is None  # nothing to do, nothing committed


def test_zorder_separates_the_values_of_its_column(spark, sales: Path, pinned: PinnedTable) -> None:
    rewrite(spark, str(sales), LAYOUTS["zorder"](pinned), "mnt-1")
    ranges = Rust(str(sales)).get_add_actions(flatten=True)
    found = pa.table(ranges).to_pylist()
    assert len(found) > 1
    assert sum(f["min.shop"] <= 3 <= f["max.shop"] for f in found) < len(found)


def test_bloom_filters_are_in_the_files_that_are_written(spark, sales: Path, pinned: PinnedTable) -> None:
    done, _ = rewrite(spark, str(sales), LAYOUTS["bloom"](pinned), "mnt-1")
    assert done is not None
    assert not done.changes_rows
    assert len(rows(spark, sales)) == 1800
    file = sales / pa.table(Rust(str(sales)).get_add_actions(flatten=True)).to_pylist()[0]["path"]
    jvm = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(str(file))
    source = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(path, spark._jsc.hadoopConfiguration())
    reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(source)
    columns = reader.getFooter().getBlocks().get(0).getColumns()
    offsets = {columns.get(i).getPath().toDotString(): columns.get(i).getBloomFilterOffset() for i in range(4)}
    reader.close()
    assert offsets["id"] > 0
    assert offsets["shop"] <= 0


def test_statistics_write_no_data_file_and_every_commit_has_the_mark(spark, sales: Path, pinned: PinnedTable) -> None:
    expected, files = head(sales), sorted(Rust(str(sales)).file_uris())
    done, _ = rewrite(spark, str(sales), LAYOUTS["statistics"](pinned), "mnt-1")
    assert done is not None
    assert (done.first, done.last) == (6, 7)  # the property, then the statistics
    assert not done.changes_rows
    assert (sorted(Rust(str(sales)).file_uris()), head(sales)) == (files, expected)
    told = pa.table(Rust(str(sales)).get_add_actions(flatten=True))
    assert {c for c in told.column_names if c.startswith("min.")} == {"min.id", "min.shop"}
    restore(spark, "sales", str(sales), to=5, action_id="mnt-2")
    assert read_table_facts("sales", str(sales)).property("delta.dataSkippingStatsColumns") is None


def test_a_checkpoint_is_of_the_newest_version_and_commits_nothing(spark, sales: Path, pinned: PinnedTable) -> None:
    append(sales)
    done, attempts = rewrite(spark, str(sales), LAYOUTS["checkpoint"](pinned), "mnt-1")
    assert (done, attempts) == (None, 1)
    assert LogFiles("sales", str(sales)).newest() == 6
    assert json.loads((sales / "_delta_log" / "_last_checkpoint").read_text())["version"] == 6


# Taken back


def test_properties_are_put_back_also_after_rows_were_written(spark, sales: Path, pinned: PinnedTable) -> None:
    name, first = "delta.autoOptimize.autoCompact", head(sales)
    done, _ = rewrite(spark, str(sales), LAYOUTS["properties"](pinned), "mnt-1")
    assert done is not None
    assert (done.first, done.last, done.files_added) == (6, 6, 0)
    assert head(sales) == first
    append(sales)
    put_back(spark, "sales", str(sales), properties={name: None}, action_id="mnt-2")
    facts = read_table_facts("sales", str(sales))
    assert (facts.version, facts.property(name)) == (8, None)
    put_back(spark, "sales", str(sales), properties={name: "false"}, action_id="mnt-3")
    assert read_table_facts("sales", str(sales)).property(name) == "false"
    assert len(rows(spark, sales)) == 1803


def test_what_planopt_itself_did_later_and_took_back_is_not_in_the_way(spark, sales: Path, pinned: PinnedTable) -> None:
    rewrite(spark, str(sales), LAYOUTS["compact"](pinned), "mnt-1")
    rewrite(spark, str(sales), LAYOUTS["properties"](pinned), "mnt-2")
    put_back(spark, "sales", str(sales), properties={"delta.autoOptimize.autoCompact": None}, action_id="mnt-3")
    done = restore(spark, "sales", str(sales), to=5, action_id="mnt-4")
    assert (done.first, files_of(sales)) == (9, 6)


def head(table: Path) -> str:
    log = LogFiles("sales", str(table))
    return rows_head(log, log.newest())


def test_an_undone_layout_has_the_files_of_before_and_the_same_rows_all_along(
    spark, sales: Path, pinned: PinnedTable
) -> None:
    expected, first = rows(spark, sales), head(sales)
    rewrite(spark, str(sales), LAYOUTS["compact"](pinned), "mnt-1")
    assert head(sales) == first
    done = restore(spark, "sales", str(sales), to=5, action_id="mnt-2")
    assert (done.first, done.files_removed, done.files_added) == (7, 1, 6)
    assert files_of(sales) == 6
    assert rows(spark, sales) == expected
    assert head(sales) == first
    append(sales)
    assert head(sales) != first


def test_undo_is_refused_once_rows_were_written_after_it(spark, sales: Path, pinned: PinnedTable) -> None:
    rewrite(spark, str(sales), LAYOUTS["compact"](pinned), "mnt-1")
    append(sales)
    expected = rows(spark, sales)
    with pytest.raises(UndoRefused, match="version 7 was written after it"):
        restore(spark, "sales", str(sales), to=5, action_id="mnt-2")
    assert rows(spark, sales) == expected


def test_undo_is_refused_when_the_old_files_are_gone(spark, sales: Path, pinned: PinnedTable) -> None:
    old = [sales / a["path"] for a in pa.table(Rust(str(sales)).get_add_actions()).to_pylist()]
    rewrite(spark, str(sales), LAYOUTS["compact"](pinned), "mnt-1")
    expected = rows(spark, sales)
    for file in old:
        file.unlink()
    with pytest.raises(UndoRefused, match="is gone or damaged"):
        restore(spark, "sales", str(sales), to=5, action_id="mnt-2")
    assert rows(spark, sales) == expected


# Clones that are left over


def test_a_clone_is_removed_when_the_trial_fails(spark, tables: Path, pinned: PinnedTable) -> None:
    with pytest.raises(RuntimeError), Clones(str(tables / "store")).cloned(spark, pinned, "c-4"):
        raise RuntimeError
    assert not list((tables / "store" / "_clones").iterdir())


def test_a_table_whose_version_is_gone_cannot_be_tried(spark, tables: Path, pinned: PinnedTable) -> None:
    gone = PinnedTable("sales", pinned.location, pinned.table_id, 99)
    with (
        pytest.raises(LayoutNotTried, match="cannot be cloned"),
        Clones(str(tables / "store")).cloned(spark, gone, "c"),
    ):
        pass
    assert not list((tables / "store" / "_clones").iterdir())


def test_a_store_elsewhere_has_no_clones(spark, pinned: PinnedTable) -> None:
    assert Clones("s3://bucket/store").sweep() == []
    with pytest.raises(LayoutNotTried, match="no folder"), Clones("s3://b/s").cloned(spark, pinned, "c"):
        pass


def test_rows_of_a_commit_without_marks_count_as_changed(tmp_path: Path, sales: Path) -> None:
    log = LogFiles("sales", str(sales))
    assert changes_rows(log.commit_actions(5))
    shutil.copytree(sales, tmp_path / "copy")
    copy = LogFiles("sales", str(tmp_path / "copy"))
    assert rows_head(copy, 5) == rows_head(log, 5) != rows_head(log, 4)
