"""The store is read without Spark: this workload's rows, oldest first, or an error that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.errors import StoreTooNew, StoreUnreadable
from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.fresh_python import output_of

pytestmark = pytest.mark.fast

START = datetime(2026, 1, 1, tzinfo=UTC)


def edge(child: str, minute: int = 0, **others: Any) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "workload": "demo",
        "query_id": "q",
        "run_id": "run",
        "recorded_at": START + timedelta(minutes=minute),
        "child_id": child,
        **others,
    }


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Snapshot]:
    """Appends rows to the lineage table of a store, in one commit a call."""

    def append(*rows: dict[str, Any]) -> Snapshot:
        table = pa.Table.from_pylist(list(rows), schema=TABLES["lineage"])
        write_deltalake(tmp_path / "lineage", table, mode="append")
        return Snapshot(str(tmp_path), "demo")

    return append


Write = Callable[..., Snapshot]


def children(snapshot: Snapshot, **equals: Any) -> list[str]:
    return snapshot.table("lineage", **equals)["child_id"].to_pylist()


# What is read


def test_some_rows_are_the_same_however_their_files_are_found(tmp_path: Path) -> None:
    """Files without a wanted input are left out, and one is enough to know that nothing is wanted."""
    for run in range(3):
        rows = [edge("", run, query_id=q, input_fingerprint=f"inp_{run}_{q}") for q in ("a", "b")]
        table = pa.Table.from_pylist(rows, schema=TABLES["policy_decisions"])
        write_deltalake(tmp_path / "policy_decisions", table, mode="append")
    snapshot = Snapshot(str(tmp_path), "demo")

    def found(**wanted: Any) -> list[str]:
        return snapshot.table("policy_decisions", ["input_fingerprint"], **wanted)["input_fingerprint"].to_pylist()

    assert found(input_fingerprint={"inp_2_a", "inp_0_b"}, query_id={"a", "b"}) == ["inp_0_b", "inp_2_a"]
    assert found(input_fingerprint={"inp_2_a"}, query_id={"b"}) == []
    assert found(input_fingerprint={"inp_9_a"}) == found(query_id=set()) == []
    assert found(query_id={"a"}) == ["inp_0_a", "inp_1_a", "inp_2_a"]


@pytest.mark.parametrize("name", TABLES)
def test_a_row_of_every_table_comes_back_as_it_was_written(tmp_path: Path, name: str) -> None:
    row = {field.name: None for field in TABLES[name]} | edge("x")
    row = {column: row[column] for column in TABLES[name].names}
    write_deltalake(tmp_path / name, pa.Table.from_pylist([row], schema=TABLES[name]))
    assert Snapshot(str(tmp_path), "demo").table(name).to_pylist() == [row]


def test_only_the_rows_of_this_workload_are_read(write: Write) -> None:
    snapshot = write(edge("mine"), edge("theirs", workload="another"))
    assert children(snapshot) == ["mine"]
    assert children(Snapshot(snapshot.root, "another")) == ["theirs"]


def test_rows_are_filtered_by_equal_values(write: Write) -> None:
    snapshot = write(edge("a"), edge("b", query_id="other"), edge("c", query_id="other", stage="observe"))
    assert children(snapshot, query_id="other") == ["b", "c"]
    assert children(snapshot, query_id="other", stage="observe") == ["c"]
    assert children(snapshot, query_id="none") == []


def test_rows_come_oldest_first_in_whatever_order_they_were_written(write: Write) -> None:
    write(edge("third", minute=3))
    write(edge("first", minute=1))
    assert children(write(edge("second", minute=2))) == ["first", "second", "third"]


def test_a_column_may_hold_one_of_several_values(write: Write) -> None:
    snapshot = write(edge("a", query_id="q1"), edge("b", query_id="q2"), edge("c", query_id="q3"))
    assert children(snapshot, query_id={"q1", "q3"}) == ["a", "c"]
    assert children(snapshot, query_id=[]) == []
    assert children(snapshot, query_id=None) == ["a", "b", "c"]


def test_a_table_is_opened_once_and_what_is_written_later_is_not_seen(write: Write) -> None:
    before = write(edge("a", minute=1))
    assert children(before) == ["a"]
    after = write(edge("b", minute=2))
    assert (children(before), children(after)) == (["a"], ["a", "b"])


def test_what_is_computed_from_a_snapshot_is_computed_once(tmp_path: Path) -> None:
    snapshot, asked = Snapshot(str(tmp_path), "demo"), []
    assert [snapshot.once("x", lambda: asked.append(1) or "made") for _ in range(2)] == ["made", "made"]
    assert asked == [1]


def test_only_the_columns_asked_for_are_read(write: Write) -> None:
    table = write(edge("a")).table("lineage", ["child_id"])
    assert (table.column_names, table.num_rows) == (["child_id"], 1)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_not_written_yet_is_empty(tmp_path: Path, name: str) -> None:
    snapshot = Snapshot(str(tmp_path / "nowhere"), "demo")
    assert snapshot.table(name).schema == TABLES[name]
    assert snapshot.table(name).to_pylist() == []
    assert not (tmp_path / "nowhere").exists()


def test_the_version_of_a_table_counts_its_commits(write: Write, tmp_path: Path) -> None:
    assert Snapshot(str(tmp_path), "demo").version("lineage") == -1
    assert write(edge("a")).version("lineage") == 0
    assert write(edge("b")).version("lineage") == 1


# What cannot be read


def test_rows_of_a_newer_planopt_are_not_guessed_at(write: Write) -> None:
    snapshot = write(edge("old"), edge("new", schema_version=SCHEMA_VERSION + 1))
    with pytest.raises(StoreTooNew, match="upgrade planopt") as error:
        snapshot.table("lineage")
    assert error.value.code == "PLN-302"


def test_rows_of_a_newer_planopt_are_found_whatever_columns_are_asked_for(write: Write) -> None:
    with pytest.raises(StoreTooNew):
        write(edge("new", schema_version=SCHEMA_VERSION + 1)).table("lineage", ["child_id"])


def test_who_only_reads_sees_what_a_newer_planopt_wrote_and_knows_it(write: Write) -> None:
    root = write(edge("old"), edge("new", schema_version=SCHEMA_VERSION + 1)).root
    snapshot = Snapshot(root, "demo", only_read=True)
    assert children(snapshot) == ["old", "new"]
    assert snapshot.newest_schema == SCHEMA_VERSION + 1


def test_rows_of_an_older_planopt_are_read(write: Write) -> None:
    assert children(write(edge("older", schema_version=SCHEMA_VERSION - 1))) == ["older"]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda log: log.write_text("{not json"), id="no JSON"),
        pytest.param(lambda log: log.write_bytes(log.read_bytes()[:100]), id="cut short"),
        pytest.param(lambda log: log.write_text(""), id="empty"),
        pytest.param(lambda log: log.unlink(), id="gone"),
    ],
)
def test_a_damaged_log_is_an_error_that_names_the_table(write: Write, damage: Callable[[Path], Any]) -> None:
    snapshot = write(edge("a"))
    damage(Path(snapshot.root) / "lineage" / "_delta_log" / "00000000000000000000.json")
    with pytest.raises(StoreUnreadable, match="table lineage cannot be read") as error:
        snapshot.table("lineage")
    assert (error.value.code, error.value.where) == ("PLN-301", snapshot.root)


# The process that read


def test_a_process_that_read_the_store_ends_cleanly(write: Write) -> None:
    snapshot = write(edge("a"))
    code = (
        "from planopt_assets.store.snapshot import Snapshot\n"
        f"print(len(Snapshot({snapshot.root!r}, 'demo').table('lineage')))"
    )
    assert output_of(code) == "1\n"  # `output_of` fails on any exit code but 0
