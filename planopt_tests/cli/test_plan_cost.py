"""What `planopt plan` says a run may cost, and that `planopt run` keeps to it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from planopt_assets import definitions
from planopt_assets.defs import instance
from planopt_assets.engine.delta.pins import Pins
from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.agenda import Agenda, Item, TableItem
from planopt_assets.loop.maintain_step import OpenLayout
from planopt_assets.loop.run import Run
from planopt_assets.loop.run_cost import run_cost
from planopt_assets.loop.step import Step
from planopt_assets.maintain.layout_memory import Remembered
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.report.terminal import print_agenda
from planopt_assets.workload import load_workload
from planopt_tests.cli.conftest import Planopt
from planopt_tests.no_spark import no_spark

pytestmark = pytest.mark.fast

BUDGETS = "budgets: {per_query: 60, per_run: 300, explore: 0}"


def change(folder: Path, old: str, new: str) -> None:
    file = folder / "planopt.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.fixture(autouse=True)
def budgets(folder: Path) -> None:
    change(folder, "budgets: {explore: 0}", BUDGETS)


def may_be_laid_out(folder: Path, table: str) -> None:
    change(folder, f"  {table}: data/{table}", f"  {table}: {{path: data/{table}, maintain: by_hand}}")


def test_two_queries_may_take_all_of_a_run_though_each_experiment_is_shorter(planopt: Planopt) -> None:
    """Of 60 s each, but as many as the run has time for."""
    assert planopt("plan", "--json").facts["cost"] == {
        "expected_s": 0.0,
        "at_most_s": 300.0,
        "executors": 1,
        "at_most_executor_s": 300.0,
        "not_now": "",
        "layouts_of_tables": 0,
    }
    assert "\ntrials: at most 300 s\n" in planopt("plan").out


def test_on_a_cluster_executor_seconds_shorten_it(planopt: Planopt, folder: Path) -> None:
    change(folder, "per_run: 300", "per_run: 300, executor_seconds_per_run: 400")
    change(folder, "  settings:\n", "  settings:\n    spark.executor.instances: 4\n")
    workload = load_workload(folder / "planopt.yaml")
    change(folder, f"master: {workload.master}", "master: yarn")
    cost = planopt("plan", "--json").facts["cost"]
    assert (cost["at_most_s"], cost["executors"], cost["at_most_executor_s"]) == (100.0, 4, 400.0)


def test_a_workload_that_is_only_observed_tries_nothing(planopt: Planopt, folder: Path) -> None:
    change(folder, "mode: auto", "mode: observe")
    may_be_laid_out(folder, "sales")
    assert planopt("plan", "--json").facts["cost"]["at_most_s"] == 0.0
    assert "trials:" not in planopt("plan").out


def test_layouts_that_may_be_tried_are_counted(planopt: Planopt, folder: Path) -> None:
    may_be_laid_out(folder, "sales")
    cost = planopt("plan", "--json").facts["cost"]
    assert (cost["at_most_s"], cost["layouts_of_tables"]) == (300.0, 1)
    assert "\ntrials: layouts of 1 table; at most 300 s\n" in planopt("plan").out


def started_by(planopt: Planopt, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str | None, float]]:
    """The Dagster runs that `planopt run` starts: each with its job and the moment its budget counts from."""
    told: list[tuple[str | None, float]] = []

    def run_loop(*_: Any, job: str | None = None, started_at: float, **__: Any) -> tuple[str, Pins]:
        told.append((job, started_at))
        return "run-1", Pins()

    monkeypatch.setattr(instance, "run_loop", run_loop)
    monkeypatch.setattr(definitions, "defs", lambda: None)
    planopt("run")
    return told


def test_both_runs_of_one_command_share_one_budget(
    planopt: Planopt, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_be_laid_out(folder, "sales")
    first, second = started_by(planopt, monkeypatch)
    assert (first[0], second[0]) == ("lay_out_selected", None)
    assert first[1] == second[1]


def test_what_the_first_run_took_is_gone_for_the_second(folder: Path) -> None:
    """Layouts took 200 of 300 s."""
    workload = load_workload(folder / "planopt.yaml")
    began = time.monotonic() - 200.0
    run = Run(Workspace(workload, no_spark, started_at=began), "run-2")
    assert run.deadline == began + 300.0
    assert "spent" not in run.no_trials
    late = Run(Workspace(workload, no_spark, started_at=began - 100.0), "run-2")
    assert late.no_trials == "the run's budget is spent: left for the next run"


def test_with_only_a_layout_due_a_cost_is_told_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layout = OpenLayout(LayoutProposal("sales", "t-1", 7, "compact"), Remembered("due", "new"))
    steps = Step("readiness", "done", ""), Step("maintain", "needed", "tries: compact sales")
    due = TableItem("sales", *steps, (layout,))
    agenda = Agenda((Item("by_shop", (Step("validate", "done", ""),)),), (due,))
    workload = load_workload(folder / "planopt.yaml")
    print_agenda(agenda, run_cost(workload, agenda, 2, datetime(2026, 3, 1, tzinfo=UTC)))
    said = capsys.readouterr().out
    assert "trials: layouts of 1 table; at most 300 s; on 2 executors at most 600 executor-seconds" in said
    assert "Nothing to do" not in said
