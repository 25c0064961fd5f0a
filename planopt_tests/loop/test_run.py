"""`Run`: ids of what happened, the deadline, and no Spark for nothing."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.run import Run, StageResult, nothing_to_do
from planopt_assets.loop.step import Step
from planopt_assets.loop.trial_hours import trials_open_for_s
from planopt_assets.model.automation import Automation, TrialWindow
from planopt_assets.model.records import Edge, NodeRecord
from planopt_assets.model.redaction import HIDDEN, learn
from planopt_assets.model.workload import Budgets, Workload
from planopt_assets.store.codecs.deciding import DECISIONS, EDGES
from planopt_assets.store.codecs.observing import NODES
from planopt_assets.store.lineage import kind_of
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.fast

WORKLOAD = Workload("demo", Path("planopt.yaml"), "/nowhere/store", (), (), budgets=Budgets(per_run=60.0))
RUN_ID = "a9d3fff7-0544-459a-a6b1-08852e54eea7"
EDGE = Edge("q", "decide", "dec_1", "obs-run-q-b0")


class Unstarted(SimpleNamespace):
    """A workspace that has no Spark, and counts how often it is asked for one."""

    store = Workspace.store

    asked = 0

    @property
    def spark(self) -> Any:
        self.asked += 1
        raise LookupError("no Spark here")


@pytest.fixture
def workspace() -> Any:
    return Unstarted(workload=WORKLOAD, started_at=1_000.0)


@pytest.fixture
def run(workspace: Any) -> Run:
    return Run(workspace, RUN_ID)


def test_an_event_is_named_by_kind_run_query_and_place(run: Run) -> None:
    assert run.event_id("obs", "revenue", "b0") == "obs-a9d3fff70544-revenue-b0"


@pytest.mark.parametrize(("kind", "meaning"), [("obs", "observation"), ("tri", "trial"), ("ver", "verdict")])
def test_lineage_knows_what_an_event_is_from_its_id(run: Run, kind: str, meaning: str) -> None:
    assert kind_of(run.event_id(kind, "revenue")) == meaning


def test_a_run_ends_when_its_budget_does(run: Run) -> None:
    assert run.deadline == 1_060.0


def at(hour: int) -> Any:
    return lambda: datetime(2026, 3, 1, hour, 30, tzinfo=UTC)


def test_no_trial_starts_outside_its_hours_and_the_run_says_when(workspace: Any) -> None:
    workspace.workload = replace(
        WORKLOAD, trial_window=TrialWindow(22, 6), automation=Automation(time_zone="Asia/Tokyo")
    )
    by_day = Run(workspace, RUN_ID, now=at(3))  # 12:30 in Tokyo
    assert by_day.deadline <= time.monotonic()
    assert by_day.no_trials == "trials run from 22:00 to 06:00 (Asia/Tokyo): left for a run at that time"
    workspace.started_at = time.monotonic()
    by_night = Run(workspace, RUN_ID, now=at(14))  # 23:30
    assert (by_night.deadline, by_night.no_trials) == (workspace.started_at + 60.0, "")


@pytest.mark.parametrize(
    ("day", "hours"),
    [(datetime(2026, 3, 1, tzinfo=UTC), 5.0), (datetime(2026, 3, 29, tzinfo=UTC), 4.0)],  # clocks are put forward
)
def test_hours_of_trials_end_by_the_clock_on_the_wall(day: datetime, hours: float) -> None:
    berlin = replace(WORKLOAD, trial_window=TrialWindow(22, 6), automation=Automation(time_zone="Europe/Berlin"))
    assert trials_open_for_s(berlin, day) == hours * 3600  # from 01:00 to 06:00


def test_a_budget_of_executor_seconds_is_shorter_on_more_executors(workspace: Any) -> None:
    workspace.workload = replace(WORKLOAD, budgets=Budgets(per_run=60.0, executor_seconds_per_run=100.0))
    workspace.started = False
    assert Run(workspace, RUN_ID).deadline == 1_060.0  # no executor is held yet
    workspace.started, workspace.executor_count = True, 4
    assert Run(workspace, RUN_ID).deadline == 1_025.0
    workspace.executor_count = 1
    assert Run(workspace, RUN_ID).deadline == 1_060.0


def test_storing_nothing_starts_no_spark(run: Run, workspace: Any) -> None:
    run.append("decide", {EDGES: [], DECISIONS: []})
    assert workspace.asked == 0


def test_storing_something_where_only_spark_writes_needs_spark(run: Run, workspace: Any) -> None:
    workspace.workload = replace(WORKLOAD, store="memory://store")
    with pytest.raises(LookupError):
        run.append("decide", {EDGES: [EDGE]})
    assert workspace.asked == 1


def test_storing_something_on_a_file_system_does_not(run: Run, workspace: Any, tmp_path: Path) -> None:
    workspace.workload = replace(WORKLOAD, store=str(tmp_path))
    run.append("decide", {EDGES: [EDGE]})
    assert [r["query_id"] for r in StoredRows.of(run).rows("lineage")] == ["q"]
    assert workspace.asked == 0


def test_a_run_reads_its_own_workload_in_its_own_store(run: Run) -> None:
    assert (run.snapshot.root, run.snapshot.workload) == ("/nowhere/store", "demo")


def test_a_run_sees_the_store_as_it_was_until_it_writes_itself(workspace: Any, tmp_path: Path) -> None:
    workspace.workload = replace(WORKLOAD, store=str(tmp_path))
    run, other = Run(workspace, RUN_ID), Run(Unstarted(workload=workspace.workload), "another")  # type: ignore[arg-type]
    assert run.snapshot.read(EDGES) == []
    other.append("decide", {EDGES: [EDGE]})
    assert run.snapshot.read(EDGES) == []
    run.append("replan", {EDGES: [EDGE]})
    assert run.snapshot.read(EDGES) == [EDGE, EDGE]


def test_a_stage_with_nothing_to_do_says_that_nothing_changed() -> None:
    done = Step("decide", "done", "3 decisions, 1 proposals")
    assert nothing_to_do("q", done) == StageResult("q", False, "decide: inputs unchanged, evidence stands")


def test_a_stage_that_is_off_or_waits_says_why() -> None:
    for need in ("off", "depends"):
        assert nothing_to_do("q", Step("replan", need, "the reason")) == StageResult("q", False, "the reason")


def test_a_stage_result_shows_no_secret() -> None:
    learn(["k-93fa"])
    result = StageResult("q", True, "failed: k-93fa", {"rows": 3}, "| k-93fa |")
    assert result == StageResult("q", True, f"failed: {HIDDEN}", {"rows": 3}, f"| {HIDDEN} |")
    assert "k-93fa" not in repr(result)


def test_no_secret_is_stored(tmp_path: Path) -> None:
    learn(["k-93fa"])
    workload = replace(WORKLOAD, store=str(tmp_path))
    run = Run(Unstarted(workload=workload), RUN_ID)  # type: ignore[arg-type]
    told: Any = (("k-93fa", 1), ("x", "k-93fa"))
    node = NodeRecord("q", "obs-run-q-b0", "final", 1, 0, "Filter", "k = k-93fa", metrics=told)
    run.append("observe", {NODES: [node]})
    (row,) = StoredRows.of(run).rows("plan_nodes")
    assert (row["detail"], row["metrics"]) == (f"k = {HIDDEN}", f'{{"{HIDDEN}": 1, "x": "{HIDDEN}"}}')
