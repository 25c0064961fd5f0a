"""`planopt run` ends with the layouts that it put on tables itself; the report shows what is there now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planopt_assets.engine.delta.pins import Pins
from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.laid_out import laid_out, on_tables, seen_table_ids
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.readiness import readiness
from planopt_assets.model.layout_verdict import LayoutVerdict
from planopt_assets.model.maintenance_action import MaintenanceAction
from planopt_assets.store.codecs.maintaining import ACTIONS, LAYOUT_VERDICTS
from planopt_assets.workload import load_workload
from planopt_tests.cli.conftest import Planopt
from planopt_tests.no_spark import no_spark

pytestmark = pytest.mark.fast


def applied(run: Run, number: int) -> None:
    facts = run.workspace.pins.facts("sales", str(run.workload.table("sales").path))
    named = ("sales", facts.table_id)
    verdict = LayoutVerdict(
        *(f"ver-{number}", f"lay_{number}", *named, 0, "accept", "cpu -60%", True), saving_cpu_ns_per_day=5_200_000_000
    )
    action = MaintenanceAction(
        *(f"mnt-{number}", *named, "compact", "applied", f"merge {number}", f"lay_{number}", verdict.id),
        cpu_ns=9_800_000_000,
    )
    run.append(f"maintain-{number}", {LAYOUT_VERDICTS: [verdict], ACTIONS: [action]})


@pytest.fixture
def runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The jobs of a run, in place of Spark: the one that lays out merges `sales`, the other looks at all tables.

    A layout of an earlier run is there already.
    """
    file = folder / "planopt.yaml"
    file.write_text(file.read_text().replace("sales: data/sales", "sales: {path: data/sales, maintain: auto}"))
    workload, jobs = load_workload(file), []
    applied(Run(Workspace(workload, no_spark), "earlier"), 0)

    def run_loop(*_: Any, job: str = "optimize", **__: Any) -> tuple[str, Pins]:
        jobs.append(job)
        run = Run(Workspace(workload, no_spark), f"run-{job}")
        if job == "optimize":
            readiness(run, [t.name for t in workload.tables])
        else:
            applied(run, 1)
        return run.run_id, run.workspace.pins

    monkeypatch.setattr("planopt_assets.defs.instance.run_loop", run_loop)
    return jobs


def test_a_run_shows_its_own_layouts_and_the_report_the_last_of_a_table(
    planopt: Planopt, folder: Path, runs: list[str]
) -> None:
    said = planopt("run", "--json").facts
    assert runs == ["lay_out_selected", "optimize"]
    assert [(one["action_id"], one["rewrite_cpu_s"], one["saving_cpu_s_per_day"]) for one in said["layouts"]] == [
        ("mnt-1", 9.8, 5.2)
    ]
    page = Path(said["report"]).read_text(encoding="utf-8")
    assert ("merge 0" in page, "merge 1" in page) == (False, True)


def test_the_text_has_one_line_for_each(planopt: Planopt, runs: list[str]) -> None:
    said = planopt("run").out
    assert "  sales: merge 1: 9.8 s CPU; saves 5.2 s CPU a day, never breaks even\n" in said
    assert "merge 0" not in said
    assert "Layouts" not in planopt("status").out


def test_what_was_taken_back_and_vacuum_are_no_layouts(folder: Path, runs: list[str]) -> None:
    run = Run(Workspace(load_workload(folder / "planopt.yaml"), no_spark), "later")
    applied(run, 2)
    named = ("sales", "t")
    undone = MaintenanceAction("mnt-3", *named, "restore", "undone", "merge 2", undoes="mnt-2")
    run.append("undo", {ACTIONS: [undone, MaintenanceAction("mnt-4", *named, "vacuum", "applied", "old files")]})
    found = laid_out(run.store.newest())
    assert on_tables(found, seen_table_ids(run.store.newest())) == list(found)
    assert [(one.action.id, one.verdict and one.verdict.id) for one in found] == [("mnt-0", "ver-0")]
