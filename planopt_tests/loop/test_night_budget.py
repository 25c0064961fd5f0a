"""A night has a budget of its own: half of it may go into observing, and what it does not reach stays due."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.observe import observe
from planopt_assets.model.workload import Query
from planopt_tests.conftest import make_tables, workload_of

pytestmark = pytest.mark.fast


def run_of(folder: Path, budget_s: float | None) -> Run:
    queries = [Query("first", sql="SELECT shop FROM sales"), Query("second", sql="SELECT id FROM sales")]
    return Run(Workspace(workload_of(make_tables(folder, files=1, rows=1), queries)), "run-1", budget_s=budget_s)


def test_the_budget_of_a_night_takes_the_place_of_the_one_of_a_run(tmp_path: Path) -> None:
    run = run_of(tmp_path, 7200.0)
    started = run.workspace.started_at
    assert (run.deadline - started, run.observe_until - started) == pytest.approx((7200.0, 3600.0))


def test_a_run_without_one_observes_as_long_as_it_takes(tmp_path: Path) -> None:
    run = run_of(tmp_path, None)
    assert run.deadline - run.workspace.started_at == pytest.approx(1800.0)
    assert run.observe_until == math.inf


def test_queries_that_the_night_does_not_reach_are_not_run_and_stay_due(tmp_path: Path) -> None:
    run = run_of(tmp_path, 0.0)
    results = observe(run, ["first", "second"])
    assert [r.summary for r in results] == ["half of the night's budget is spent: left for the next night"] * 2
    assert [step.need for _, step in run.steps("observe", ["first", "second"])] == ["needed", "needed"]
