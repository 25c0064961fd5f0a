"""A query's observations come out of the store in the order of time, each with what belongs to it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.loop.histories import histories
from planopt_assets.model.observation import ObservationHistory
from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.rows import Row, captured_row, observation, scan_row, stored, table_row, unsuccessful_row

pytestmark = pytest.mark.fast

START = datetime(2026, 1, 1, tzinfo=UTC)
Write = Callable[..., Snapshot]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Appends rows to one table of a store, minutes after the start; gives what the store then holds."""

    def append(table: str, *rows: Row, minute: int = 0) -> Snapshot:
        common = {"schema_version": SCHEMA_VERSION, "recorded_at": START + timedelta(minutes=minute)}
        content = pa.Table.from_pylist([{**row, **common} for row in rows], schema=TABLES[table])
        write_deltalake(tmp_path / table, content, mode="append")
        return Snapshot(str(tmp_path), "demo")

    return append


def outline(history: ObservationHistory) -> list[Any]:
    return [
        (o.run_id, [a.binding for a in o.artifacts], [s.scan for s in o.scans], [t.table for t in o.tables])
        for o in history.observations
    ]


def test_a_query_without_observations_has_an_empty_history(tmp_path: Path) -> None:
    assert histories(Snapshot(str(tmp_path), "demo"), ["q"]) == {"q": ObservationHistory(())}
    assert ObservationHistory(()).last is None


def test_observations_are_in_the_order_of_time(write: Write) -> None:
    write("plan_artifacts", captured_row("late"), minute=9)
    snapshot = write("plan_artifacts", captured_row("early"), minute=1)
    found = histories(snapshot, ["q"])["q"]
    assert [o.run_id for o in found.observations] == ["early", "late"]
    assert found.last is not None
    assert found.last.run_id == "late"


def test_each_observation_has_its_own_bindings_scans_and_tables(write: Write) -> None:
    ids = {"r1b0": "obs-r1-q-b0", "r1b1": "obs-r1-q-b1", "r2b0": "obs-r2-q-b0"}
    write("scan_outcomes", scan_row(observation_id=ids["r1b0"], scan=0), scan_row(observation_id=ids["r1b1"], scan=1))
    write("scan_outcomes", scan_row(observation_id=ids["r2b0"], scan=2), scan_row(observation_id="another", scan=3))
    write("input_tables", table_row("a", observation_id=ids["r2b0"]), table_row("b", observation_id="another"))
    write("input_tables", table_row("c", observation_id=ids["r1b0"]), table_row("d", observation_id=ids["r1b1"]))
    snapshot = write("plan_artifacts", captured_row("r1", 1), captured_row("r1", 0), minute=1)
    assert outlined(snapshot) == [("r1", [0, 1], [0, 1], ["c", "d"])]
    snapshot = write("plan_artifacts", captured_row("r2", 0), minute=2)
    # Gates look at the scans of the newest observation alone: of the others, none are read.
    assert outlined(snapshot) == [("r1", [0, 1], [], ["c", "d"]), ("r2", [0], [2], ["a"])]


def outlined(snapshot: Snapshot) -> list[Any]:
    """Rows of one time come in no order."""
    found = outline(histories(snapshot, ["q"])["q"])
    return [(run, bindings, sorted(scans), sorted(tables)) for run, bindings, scans, tables in found]


def test_a_plan_is_read_when_it_is_asked_for(write: Write) -> None:
    kept, too_large = captured_row("r1", 0), captured_row("r1", 1, plan=None)
    plan_of = histories(write("plan_artifacts", kept, too_large), ["q"])["q"].plan_of
    assert plan_of("obs-r1-q-b0") == kept["plan"]
    assert plan_of("obs-r1-q-b1") is None
    assert plan_of("obs-never-q-b0") is None


def test_queries_and_workloads_are_kept_apart(write: Write) -> None:
    other_query = {**captured_row("r1"), "query_id": "other", "observation_id": "obs-r1-other-b0"}
    elsewhere = {**captured_row("r1"), "workload": "elsewhere"}
    snapshot = write("plan_artifacts", captured_row("r1"), other_query, elsewhere)
    found = histories(snapshot, ["other", "q", "unknown"])
    assert list(found) == ["other", "q", "unknown"]
    assert [outline(h) for h in found.values()] == [[("r1", [0], [], [])], [("r1", [0], [], [])], []]


def test_what_a_person_accepted_is_known(write: Write) -> None:
    write("plan_artifacts", captured_row("r1"))
    accepted = stored("accepted_topologies", observation_id="obs-r1-q-b0", topology_hashes=["top_1"], reason="better")
    other = {**accepted, "query_id": "other", "observation_id": "obs-r1-other-b0"}
    found = histories(write("accepted_topologies", accepted, other), ["q"])["q"]
    assert found.accepted == {"obs-r1-q-b0"}
    assert found.last is not None
    assert found.last.ids == found.accepted


def test_what_an_observation_says_of_itself() -> None:
    both = observation(captured_row("r1", 0), captured_row("r1", 1, topology_hash="top_9", final_topology_hash="top_8"))
    assert both.captured
    assert both.topologies == ("top_1", "top_9")
    assert both.final_topologies == ("top_2", "top_8")
    assert both.ids == {"obs-r1-q-b0", "obs-r1-q-b1"}


@pytest.mark.parametrize("status", ["refused", "failed"])
def test_one_binding_that_did_not_run_is_enough_not_to_be_captured(status: str) -> None:
    row = unsuccessful_row("r1", status, "PLN-207")
    assert not observation(row).captured
    assert not observation(captured_row("r1"), row).captured
