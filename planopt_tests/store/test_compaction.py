"""Compaction of the store: fewer files, the same rows in the same order, and nothing of anybody else's lost."""

from __future__ import annotations

import os
import secrets
import time
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from planopt_assets.defs.resources import WorkspaceResource
from planopt_assets.store import compaction, writer
from planopt_assets.store.compaction import MOST_SMALL_FILES, Compacted, compact_store
from planopt_assets.store.schemas import TABLES
from planopt_assets.store.sequence import APPLICATION, NOTED_AT
from planopt_assets.workload import load_workload
from planopt_tests.conftest import write_workload_file
from planopt_tests.stored_rows import StoredRows

START = datetime(2025, 1, 1, tzinfo=UTC)
ARTIFACTS = "plan_artifacts"


def append(root: Path, number: int, rows: int = 3, **values: Any) -> None:
    """A commit as a run makes it; the rows of one commit have the same time."""
    common = {"schema_version": 3, "workload": "w" if number % 5 else "another", "run_id": f"r{number}"}
    found = [
        {**common, "recorded_at": START + timedelta(minutes=number), "observation_id": f"obs-{number}-{n}", **values}
        for n in range(rows)
    ]
    schema = pa.schema([f for f in TABLES[ARTIFACTS] if f.name != "engine"]) if number < 3 else TABLES[ARTIFACTS]
    write_deltalake(
        root / ARTIFACTS,
        pa.Table.from_pylist([{**r, "plan": bytes([number, 0, 255]), "edits": ["a", None]} for r in found], schema),
        mode="append",
        schema_mode="merge",
    )


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for number in range(12):
        append(tmp_path, number)
    return tmp_path


def files(root: Path, table: str = ARTIFACTS) -> int:
    return len(DeltaTable(str(root / table)).file_uris())


def rows(root: Path) -> list[dict[str, Any]]:
    return [row for w in ("w", "another") for row in StoredRows(str(root), w).rows(ARTIFACTS)]


@pytest.mark.fast
def test_many_small_files_become_one_with_the_same_rows_in_the_same_order(store: Path) -> None:
    before = rows(store)
    assert compact_store(str(store), most=10) == [Compacted(ARTIFACTS, 12, 1, 0)]
    assert rows(store) == before
    assert len(before) == 36
    protocol = DeltaTable(str(store / ARTIFACTS)).protocol()
    assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)


@pytest.mark.fast
def test_no_file_of_a_compacted_table_is_larger_than_the_profile_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts that resemble nothing, 1.3 MB in all: one file of at most 64 MiB, or several of at most 256 KiB."""
    write_deltalake(tmp_path / "lineage", pa.table({"child_id": [secrets.token_hex(16) for _ in range(40_000)]}))
    table = DeltaTable(str(tmp_path / "lineage"))
    compaction.write_anew(table)
    assert (compaction.FILE_BYTES, files(tmp_path, "lineage")) == (64 * 1024**2, 1)
    monkeypatch.setattr(compaction, "FILE_BYTES", 256 * 1024)
    compaction.write_anew(table)
    sizes = [Path(uri).stat().st_size for uri in table.file_uris()]
    assert len(sizes) >= 3
    assert max(sizes) <= 256 * 1024


@pytest.mark.fast
def test_a_table_with_few_small_files_is_left_alone(store: Path) -> None:
    version = DeltaTable(str(store / ARTIFACTS)).version()
    assert compact_store(str(store), most=12) == []
    assert DeltaTable(str(store / ARTIFACTS)).version() == version


@pytest.mark.fast
def test_a_table_that_is_too_large_is_left_alone(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "LARGEST_BYTES", 1000)
    assert compact_store(str(store), most=10) == []
    assert files(store) == 12


@pytest.mark.fast
@pytest.mark.parametrize("other", ["an append", "a compaction"])
def test_whoever_commits_in_between_wins_and_no_row_is_lost_or_there_twice(
    store: Path, other: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write_anew = compaction.write_anew

    def meanwhile(table: DeltaTable) -> None:
        monkeypatch.setattr(compaction, "write_anew", write_anew)
        if other == "an append":
            append(store, 99)
        else:
            assert compact_store(str(store), most=10) == [Compacted(ARTIFACTS, 12, 1, 0)]
        write_anew(table)

    monkeypatch.setattr(compaction, "write_anew", meanwhile)
    caplog.set_level("INFO", "planopt")
    assert compact_store(str(store), most=10) == []
    assert f"{ARTIFACTS} is not compacted this time" in caplog.text
    assert len({r["observation_id"] for r in rows(store)}) == len(rows(store)) == (39 if other == "an append" else 36)


@pytest.mark.fast
@pytest.mark.parametrize("interrupted", [False, True], ids=["a panic", "Ctrl-C"])
def test_a_panic_in_a_native_library_fails_no_compaction(
    store: Path, interrupted: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class PanicException(BaseException): ...

    def panics(table: DeltaTable) -> None:
        raise KeyboardInterrupt if interrupted else PanicException("no runtime\nmore")

    monkeypatch.setattr(compaction, "write_anew", panics)
    caplog.set_level("INFO", "planopt")
    with pytest.raises(KeyboardInterrupt) if interrupted else nullcontext():
        assert compact_store(str(store), most=10) == []
        assert f"{ARTIFACTS} is not compacted this time: no runtime" in caplog.messages


@pytest.mark.fast
def test_files_no_version_needs_stay_a_week_and_what_nobody_has_committed_yet_is_not_touched(store: Path) -> None:
    folder = store / ARTIFACTS
    (folder / "written-now.parquet").write_bytes(b"a writer at work")
    (folder / "left-behind.parquet").write_bytes(b"a writer that died")
    old = time.time() - 8 * 86_400
    os.utime(folder / "left-behind.parquet", (old, old))
    assert compact_store(str(store), most=10) == [Compacted(ARTIFACTS, 12, 1, deleted=1)]
    assert len(list(folder.glob("*.parquet"))) == 14  # the new one, 12 of the version before, and the one at work
    for number in range(12, 23):
        append(store, number)
    before = rows(store)
    (done,) = compact_store(str(store), most=10, kept_hours=0)
    assert done.deleted >= 23
    assert rows(store) == before  # nothing reads an older version
    assert files(store) == 1


@pytest.mark.fast
def test_a_damaged_table_and_a_store_elsewhere_are_no_error(store: Path) -> None:
    (store / "trials" / "_delta_log").mkdir(parents=True)
    assert [c.table for c in compact_store(str(store), most=10)] == [ARTIFACTS]
    assert compact_store("hdfs://somewhere/store", most=0) == []


@pytest.mark.fast
def test_the_end_of_a_dagster_run_compacts_the_store_of_its_workload(tmp_path: Path) -> None:
    (tmp_path / "data" / "sales").mkdir(parents=True)
    file = write_workload_file(tmp_path, '  - {id: q, sql: "SELECT 1 AS n FROM sales"}')
    store = Path(load_workload(file).store)
    for number in range(MOST_SMALL_FILES + 1):
        row = pa.Table.from_pylist([{"child_id": str(number)}], TABLES["lineage"])
        write_deltalake(store / "lineage", row, mode="append")
    with dg.build_init_resource_context() as context:
        unused, used = WorkspaceResource(workload=str(file)), WorkspaceResource(workload=str(file))
        unused.teardown_after_execution(context)
        assert files(store, "lineage") == MOST_SMALL_FILES + 1
        used.run("r1", lambda *words: None)
        used.teardown_after_execution(context)
    assert files(store, "lineage") == 1


@pytest.mark.spark
@pytest.mark.parametrize("scheme", ["", "file://"], ids=["without spark", "through spark"])
def test_who_writes_goes_on_and_still_knows_what_was_written(spark: SparkSession, tmp_path: Path, scheme: str) -> None:
    root = str(tmp_path)

    def write(number: int) -> None:
        rows = {"lineage": [{"query_id": "q", "child_id": f"c{number}", "parent_id": "p"}]}
        writer.append(lambda: spark, f"{scheme}{root}", workload="w", run_id=f"r{number}", stage="decide", rows=rows)

    def known() -> list[Any]:
        return sorted(r.child_id for r in spark.read.format("delta").load(f"{root}/lineage").collect())

    for number in range(3):
        write(number)
    compact_store(root, most=2)
    assert known() == ["c0", "c1", "c2"]
    write(1)  # the same run and stage again: Delta remembers it from the checkpoint
    write(3)
    assert known() == ["c0", "c1", "c2", "c3"]
    (checkpoint,) = (tmp_path / "lineage" / "_delta_log").glob("*.checkpoint.parquet")
    applications = {txn["appId"] for txn in pq.read_table(checkpoint)["txn"].drop_null().to_pylist()}
    assert applications - {APPLICATION, NOTED_AT} == {f"planopt:r{number}:decide" for number in range(3)}
