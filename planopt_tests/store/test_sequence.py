"""Rows are ordered by the commits that stored them: clocks may be wrong, and writers may meet."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from planopt_assets.errors import VerdictStale
from planopt_assets.promote.transitions import Accept, next_generation
from planopt_assets.store import sequence
from planopt_assets.store.codecs.deciding import VERDICTS
from planopt_assets.store.compaction import compact_store
from planopt_assets.store.repair import repair
from planopt_assets.store.schemas import TABLES
from planopt_assets.store.sequence import COMPARED, last_number, last_number_of
from planopt_assets.store.snapshot import Snapshot
from planopt_assets.store.writer import append
from planopt_tests.no_spark import no_spark
from planopt_tests.promote.events import A, verdict_of
from planopt_tests.rows import stored

pytestmark = pytest.mark.fast

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def write(root: Path, run_id: str, *, hours: float = 0, table: str = "verdicts", **columns: Any) -> None:
    """One commit by a machine whose clock is some hours ahead."""
    row = {"query_id": "q", "recorded_at": NOW + timedelta(hours=hours), **columns}
    append(no_spark, str(root), workload="demo", run_id=run_id, stage="test", rows={table: [row]})


def judged(root: Path, number: int, outcome: str, *, hours: float = 0) -> None:
    write(root, f"run-{number}", hours=hours, **VERDICTS.to_row(verdict_of(A, number, outcome=outcome)))


def runs(root: Path, table: str = "verdicts") -> list[str]:
    return Snapshot(str(root), "demo").table(table)["run_id"].to_pylist()


def numbers(root: Path, table: str = "verdicts") -> list[int | None]:
    return Snapshot(str(root), "demo").table(table)["sequence"].to_pylist()


# In one table


def test_an_accept_that_is_dated_three_hours_ahead_does_not_outrank_a_later_reject(tmp_path: Path) -> None:
    judged(tmp_path, 1, "accept", hours=3)
    judged(tmp_path, 2, "reject")
    verdicts = Snapshot(str(tmp_path), "demo").read(VERDICTS)
    assert [v.outcome for v in verdicts] == ["accept", "reject"]
    first = verdicts[0]
    with pytest.raises(VerdictStale, match="superseded by the newer"):
        next_generation("demo", "q", (), Accept(first.id, first.candidate_id, "inp_1", tuple(verdicts)))


def test_rows_come_in_the_order_of_their_commits_whatever_the_clocks_say(tmp_path: Path) -> None:
    for number, hours in enumerate([3, -5, 0, 2, -1]):
        write(tmp_path, f"run-{number}", hours=hours)
    assert runs(tmp_path) == [f"run-{number}" for number in range(5)]
    assert numbers(tmp_path) == [1, 2, 3, 4, 5]


def test_rows_of_one_commit_have_one_number(tmp_path: Path) -> None:
    rows = [{"query_id": q} for q in ("a", "b")]
    append(no_spark, str(tmp_path), workload="demo", run_id="r", stage="test", rows={"verdicts": rows})
    assert numbers(tmp_path) == [1, 1]


def test_rows_that_are_older_than_the_column_come_first_and_by_their_clock(tmp_path: Path) -> None:
    schema = TABLES["verdicts"].remove(TABLES["verdicts"].get_field_index("sequence"))
    for run_id, hours in (("old-2", 1000), ("old-1", 1)):
        common = {"schema_version": 5, "run_id": run_id, "recorded_at": NOW + timedelta(hours=hours)}
        row = {name: value for name, value in stored("verdicts", **common).items() if name in schema.names}
        write_deltalake(tmp_path / "verdicts", pa.Table.from_pylist([row], schema=schema), mode="append")
    write(tmp_path, "new")
    assert runs(tmp_path) == ["old-1", "old-2", "new"]
    assert numbers(tmp_path) == [None, None, 1]


def test_of_many_writers_at_once_each_has_its_own_number_in_the_order_of_commits(tmp_path: Path) -> None:
    write(tmp_path, "first")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: write(tmp_path, f"run-{n}", hours=-n), range(12)))
    assert numbers(tmp_path) == list(range(1, 14))
    assert _by_version(tmp_path / "verdicts") == list(range(1, 14))


def _actions(location: Path, version: int) -> list[Any]:
    commit = location / "_delta_log" / f"{version:020d}.json"
    return [json.loads(line) for line in commit.read_text().splitlines()]


def _by_version(location: Path) -> list[int]:
    """The number in the file that each commit added."""
    found = []
    for version in range(len(list((location / "_delta_log").glob("*.json")))):
        added = [a["add"] for a in _actions(location, version) if "add" in a]
        found += [pq.read_table(location / added[0]["path"])["sequence"][0].as_py()]
    return found


def test_compaction_changes_no_order(tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path, f"run-{number}", hours=-number)
    assert [c.table for c in compact_store(str(tmp_path), most=2)] == ["verdicts"]
    write(tmp_path, "after", hours=-100)
    assert runs(tmp_path) == [*(f"run-{number}" for number in range(5)), "after"]
    assert numbers(tmp_path) == [1, 2, 3, 4, 5, 6]


def test_rows_that_are_written_again_keep_their_numbers(tmp_path: Path) -> None:
    write(tmp_path, "restored", sequence=41)
    write(tmp_path, "new")
    assert numbers(tmp_path) == [41, 43]


def test_where_no_transaction_tells_the_last_number_the_rows_do(tmp_path: Path) -> None:
    row = stored("verdicts", schema_version=6, run_id="by Spark", recorded_at=NOW, sequence=17)
    write_deltalake(tmp_path / "verdicts", pa.Table.from_pylist([row], schema=TABLES["verdicts"]))
    assert last_number_of(DeltaTable(str(tmp_path / "verdicts"))) == 17
    write(tmp_path, "new")
    assert numbers(tmp_path) == [17, 18]


def by_spark(root: Path, number: int, table: str = "verdicts") -> None:
    """A commit that notes no number, as Spark's have none."""
    row = stored(table, schema_version=6, run_id="by Spark", recorded_at=NOW, sequence=number)
    write_deltalake(root / table, pa.Table.from_pylist([row], schema=TABLES[table]), mode="append")


def test_a_noted_number_counts_only_until_somebody_else_commits(tmp_path: Path) -> None:
    write(tmp_path, "by path")
    by_spark(tmp_path, 17)
    write(tmp_path, "by path again")
    assert numbers(tmp_path) == [1, 17, 18]
    by_spark(tmp_path, 30, "runtime_counters")
    write(tmp_path, "knows the other table")
    assert numbers(tmp_path)[-1] == 31


def test_rows_are_not_read_where_the_last_commit_noted_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "first")
    monkeypatch.setattr(sequence, "_in_rows", lambda table: pytest.fail("rows were read"))
    write(tmp_path, "second")
    assert numbers(tmp_path) == [1, 2]


@pytest.mark.parametrize("note_lost", [True, False], ids=["with-its-note", "and-its-rows-are-not"])
def test_after_a_repair_the_order_goes_on(tmp_path: Path, note_lost: bool) -> None:
    for number in range(3):
        write(tmp_path, f"run-{number}")
    if note_lost:  # the rows of the last commit are still in their file
        (tmp_path / "verdicts" / "_delta_log" / f"{2:020d}.json").write_text("")
    else:
        (added,) = (a["add"] for a in _actions(tmp_path / "verdicts", 2) if "add" in a)
        (tmp_path / "verdicts" / added["path"]).unlink()
    repair(str(tmp_path), stamp="now", run_id="repair")
    by_spark(tmp_path, 40)
    write(tmp_path, "after")
    assert numbers(tmp_path)[-2:] == [40, 41]
    repaired = DeltaTable(str(tmp_path / "verdicts"), version=0)
    assert last_number_of(repaired) == 3


# Between tables


@pytest.mark.parametrize("later", COMPARED)
@pytest.mark.parametrize("earlier", COMPARED)
def test_a_later_row_has_a_higher_number_whatever_its_table(tmp_path: Path, earlier: str, later: str) -> None:
    for number in range(3):
        write(tmp_path, f"run-{number}", table=earlier)
    write(tmp_path, "after", table=later, hours=-24)
    assert numbers(tmp_path, later)[-1] == 4
    assert last_number(str(tmp_path)) == 4


def test_a_table_that_was_moved_away_takes_no_order_with_it(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path, f"run-{number}", table="verdicts")
    write(tmp_path, "promoted", table="active_policies")
    (tmp_path / "verdicts").rename(tmp_path / "moved")
    repair(str(tmp_path), stamp="moved", run_id="repair")
    write(tmp_path, "after", table="verdicts")
    assert numbers(tmp_path) == [5]


def test_a_table_that_cannot_be_opened_does_not_keep_others_from_being_written(tmp_path: Path) -> None:
    write(tmp_path, "first", table="runtime_counters")
    (tmp_path / "runtime_counters" / "_delta_log" / "00000000000000000000.json").write_text("{damaged")
    write(tmp_path, "second")
    assert numbers(tmp_path) == [1]
