"""`Run`: ids of what happened, the deadline, and no Spark for nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.run import Run, StageResult, unchanged
from planopt_assets.model.redaction import HIDDEN, learn
from planopt_assets.model.workload import Budgets, Workload
from planopt_assets.store.lineage import kind_of

pytestmark = pytest.mark.fast

WORKLOAD = Workload("demo", Path("planopt.yaml"), "/nowhere/store", (), (), budgets=Budgets(per_run=60.0))
RUN_ID = "a9d3fff7-0544-459a-a6b1-08852e54eea7"


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


def test_storing_nothing_starts_no_spark(run: Run, workspace: Any) -> None:
    run.append("decide", {"lineage": [], "policy_decisions": []})
    assert workspace.asked == 0


def test_storing_something_in_an_object_store_needs_spark(run: Run, workspace: Any) -> None:
    workspace.workload = replace(WORKLOAD, store="s3a://nowhere/store")
    with pytest.raises(LookupError):
        run.append("decide", {"lineage": [{"query_id": "q"}]})
    assert workspace.asked == 1


def test_storing_something_on_a_file_system_does_not(run: Run, workspace: Any, tmp_path: Path) -> None:
    workspace.workload = replace(WORKLOAD, store=str(tmp_path))
    run.append("decide", {"lineage": [{"query_id": "q"}]})
    assert [r["query_id"] for r in run.reader.rows("lineage")] == ["q"]
    assert workspace.asked == 0


def test_a_run_reads_its_own_workload_in_its_own_store(run: Run) -> None:
    assert (run.reader.root, run.reader.workload) == ("/nowhere/store", "demo")


def test_a_stage_with_nothing_to_do_says_that_nothing_changed() -> None:
    assert unchanged("q", "decide") == StageResult("q", False, "decide: inputs unchanged, evidence stands")


def test_a_stage_result_shows_no_secret() -> None:
    learn(["k-93fa"])
    result = StageResult("q", True, "failed: k-93fa", {"rows": 3}, "| k-93fa |")
    assert result == StageResult("q", True, f"failed: {HIDDEN}", {"rows": 3}, f"| {HIDDEN} |")
    assert "k-93fa" not in repr(result)


def test_no_secret_is_stored(tmp_path: Path) -> None:
    learn(["k-93fa"])
    workload = replace(WORKLOAD, store=str(tmp_path))
    run = Run(Unstarted(workload=workload), RUN_ID)  # type: ignore[arg-type]
    run.append(
        "observe", {"plan_nodes": [{"detail": "k = k-93fa", "node": 1, "metrics": '{"k-93fa": 1, "x": "k-93fa"}'}]}
    )
    (row,) = run.reader.rows("plan_nodes")
    assert (row["detail"], row["metrics"]) == (f"k = {HIDDEN}", f'{{"{HIDDEN}": 1, "x": "{HIDDEN}"}}')
