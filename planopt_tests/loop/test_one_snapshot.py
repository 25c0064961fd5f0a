"""A stage reads the store once: over an unchanged run each table is opened at most once by each stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop import table_standing
from planopt_assets.loop.agenda import agenda_of
from planopt_assets.loop.gates import CHECKS, evaluate
from planopt_assets.loop.run import Run, StageResult, read_standings
from planopt_assets.loop.stages.decide import decide_queries
from planopt_assets.loop.stages.maintain import maintain
from planopt_assets.loop.stages.observe import observe
from planopt_assets.loop.stages.promote import promote
from planopt_assets.loop.stages.readiness import readiness
from planopt_assets.loop.stages.replan import replan
from planopt_assets.loop.stages.validate import validate
from planopt_assets.loop.table_standing import table_standings, tables_of
from planopt_assets.model.workload import Budgets, Query, Workload
from planopt_assets.store import snapshot as snapshots
from planopt_assets.store.codecs.deciding import DECISIONS
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.no_spark import no_spark
from planopt_tests.rows import decision
from planopt_tests.store.written import WrittenStore

pytestmark = pytest.mark.fast

QUERY = Query("q", sql="SELECT shop FROM sales", runs_per_day=24.0)
STAGES: dict[str, Callable[[Run], list[StageResult]]] = {
    "observe": lambda run: observe(run, ["q"]),
    "decide": lambda run: decide_queries(run, ["q"]),
    "replan": lambda run: replan(run, ["q"]),
    "validate": lambda run: validate(run, ["q"]),
    "promote": lambda run: promote(run, ["q"]),
    "readiness": lambda run: readiness(run, ["sales", "shops"]),
    "maintain": lambda run: maintain(run, ["sales", "shops"]),
}


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    """A query and its tables with everything known: observed, decided on, looked at."""
    made = workload_of(make_tables(tmp_path, files=1, rows=5), [QUERY], mode="auto", budgets=Budgets(explore=0.0))
    made = replace(made, tables=tuple(replace(t, maintain="auto") for t in made.tables))
    written = WrittenStore(made)
    written.observe(QUERY, "run-1")
    inputs = read_standings(made)["q"].input_fingerprint
    nothing = DECISIONS.to_row(decision("no_change", input_fingerprint=inputs))
    written.append("policy_decisions", nothing, run_id="run-1")
    readiness(Run(Workspace(made, no_spark), "run-1"), ["sales", "shops"])
    return made


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each table of the store was opened."""
    count: Counter[str] = Counter()

    def counting(root: str, name: str, **how: Any) -> Any:
        count[name] += 1
        return open_sound(root, name, **how)

    open_sound = snapshots.open_sound
    monkeypatch.setattr(snapshots, "open_sound", counting)
    return count


def test_over_an_unchanged_run_each_stage_opens_a_table_at_most_once(workload: Workload, opened: Counter[str]) -> None:
    run = Run(Workspace(workload, no_spark), "run-2")
    for name, stage in STAGES.items():
        opened.clear()
        assert not any(result.changed for result in stage(run)), name
        assert set(opened.values()) == {1}, (name, opened)
    assert not run.workspace.started


@pytest.mark.parametrize(("mode", "may"), [("observe", "auto"), ("auto", "never")])
def test_where_nobody_asked_for_trials_maintain_opens_no_table(
    workload: Workload, opened: Counter[str], mode: Any, may: Any
) -> None:
    off = replace(workload, mode=mode, tables=tuple(replace(t, maintain=may) for t in workload.tables))
    results = maintain(Run(Workspace(off, no_spark), "run-2"), ["sales", "shops"])
    assert (len(results), opened) == (2, Counter())


def test_readiness_and_its_gates_share_one_standing_of_the_tables(
    workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(table_standing, "table_standings", lambda *_: asked.append("asked") or {})
    run = Run(Workspace(workload, no_spark), "run-2")
    readiness(run, ["sales"])
    tables_of(run), tables_of(run)
    assert asked == ["asked"]
    run.store.refresh()
    tables_of(run)
    assert len(asked) == 2


def test_all_gates_are_answered_from_the_snapshot_that_the_stage_read(workload: Workload, opened: Counter[str]) -> None:
    run = Run(Workspace(workload, no_spark), "run-2")
    evaluate(["q"], run.snapshot, run.standings())
    assert len(CHECKS) > 5
    assert set(opened.values()) == {1}


def test_the_plan_of_a_run_opens_each_table_once_for_queries_and_tables(
    workload: Workload, opened: Counter[str]
) -> None:
    run = Run(Workspace(workload, no_spark), "run-2")
    snapshot: Snapshot = run.snapshot
    tables = table_standings(workload, snapshot, run.workspace.pins)
    found = agenda_of(workload, snapshot, run.standings(), ["q"], tables=tables)
    assert (found.queries, found.tables) == ([], [])
    assert set(opened.values()) == {1}
