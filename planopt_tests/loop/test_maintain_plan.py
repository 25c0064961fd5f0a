"""What `planopt plan` says of layouts is what the stage `maintain` does, without Spark: trials are scripted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planopt_assets.defs.table_stages import tables_asked
from planopt_assets.engine.delta.pins import Pins
from planopt_assets.errors import MaintenanceFailed
from planopt_assets.loop.agenda import Agenda, agenda_of
from planopt_assets.loop.maintaining.table_steps import maintain_step_of
from planopt_assets.loop.run import Run, read_standings
from planopt_assets.loop.stages import maintain as stage
from planopt_assets.loop.stages.readiness import readiness
from planopt_assets.loop.standing import Standing
from planopt_assets.loop.table_standing import TableStanding, asked_tables, table_standings
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.model.maintenance_action import MaintenanceAction
from planopt_assets.model.workload import Workload
from planopt_assets.store.codecs.maintaining import ACTIONS, LAYOUT_VERDICTS
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.loop.scripted_layouts import (
    PERMISSIONS,
    Trials,
    Worked,
    append,
    applying,
    laid_out_by_automation,
    maintained,
    propose,
    run_of,
)

pytestmark = pytest.mark.fast


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    return laid_out_by_automation(tmp_path)


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return applying(monkeypatch)


def agenda(workload: Workload) -> Agenda:
    snapshot = Snapshot(workload.store, workload.name)
    tables = table_standings(workload, snapshot, Pins())
    standings = read_standings(workload, snapshot=snapshot)
    return agenda_of(workload, snapshot, standings, ["q1", "q2"], tables=tables)


def to_do(workload: Workload) -> list[str]:
    return agenda(workload).tables


def test_a_run_is_due_as_long_as_a_layout_is(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    trials = Trials(lambda *_: "inconclusive")
    readiness(run_of(workload, "look"), ["sales", "shops"])
    assert to_do(workload) == []
    propose(workload)
    assert to_do(workload) == ["sales"]
    never = replace(workload, tables=tuple(replace(t, maintain="never") for t in workload.tables))
    assert to_do(never) == []
    for night in range(3):
        assert to_do(workload) == ["sales"]
        maintained(monkeypatch, workload, f"night-{night}", trials)
    assert to_do(workload) == []
    propose(workload, action="zorder", columns=("shop",))
    assert to_do(workload) == ["sales"]
    maintained(monkeypatch, workload, "night-4", Trials(lambda *_: "accept"), apply=False)
    propose(workload, action="zorder", columns=("id",))
    (sales,) = [i for i in agenda(workload).table_items if i.table == "sales"]
    assert sales.maintain.why == "applies: Z-order sales by shop"  # what is proven needs no rival


@pytest.mark.parametrize("kind", ["due", "proven", "proven on a subset", "rejected", "checkpoint", "properties"])
def test_the_stage_works_exactly_where_the_plan_says_so(
    workload: Workload, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def work(*_: Any, **__: Any) -> Any:
        raise Worked

    def works(there: Workload, name: str) -> bool:
        try:
            maintained(monkeypatch, there, name, Trials(lambda *_: Worked()))
        except Worked:
            return True
        return False

    readiness(run_of(workload, "look"), ["sales", "shops"])
    made = propose(workload, action=kind if kind in ("checkpoint", "properties") else "compact")
    outcome = {"proven": "accept", "proven on a subset": "accept", "rejected": "reject"}.get(kind)
    if outcome:
        (told,) = Trials(lambda *_: outcome)(run_of(workload, "tried"), [made]).verdicts
        subset = "a third of it" if "subset" in kind else ""
        run_of(workload, "tried").append("maintain", {LAYOUT_VERDICTS: [replace(told, subset=subset)]})
    monkeypatch.setattr(stage, "apply_layout", work)
    monkeypatch.setattr(stage, "recover", lambda *_: None)
    worked = set()
    for mode, may in PERMISSIONS:
        tables = tuple(replace(t, maintain=may) for t in workload.tables)
        there: Any = replace(workload, mode=mode, tables=tables)
        found = maintain_step_of(there, *_read(there))
        if works(there, f"{mode}-{may}"):
            worked.add((mode, may))
        assert found.step.needed is ((mode, may) in worked), (mode, may, found.step)
    tried = {(mode, may) for mode, may in PERMISSIONS if mode != "observe" and may != "never"}
    applied = {("auto", "auto")}
    assert worked == {"due": tried, "proven": applied, "checkpoint": applied}.get(kind, set())


def _read(workload: Workload) -> tuple[Snapshot, dict[str, Standing], TableStanding]:
    snapshot = Snapshot(workload.store, workload.name)
    tables = table_standings(workload, snapshot, Pins())
    return snapshot, read_standings(workload, snapshot=snapshot), tables["sales"]


def test_a_proven_layout_is_due_as_soon_as_automation_may_apply_it(
    workload: Workload, monkeypatch: pytest.MonkeyPatch, applied: list[str]
) -> None:
    """With `maintain: by_hand` it waits for a person. With `auto` the next run applies it, so the plan says so."""
    by_hand = replace(workload, tables=tuple(replace(t, maintain="by_hand") for t in workload.tables))
    readiness(run_of(by_hand, "look"), ["sales", "shops"])
    propose(by_hand)
    trials = Trials(lambda *_: "accept")
    maintained(monkeypatch, by_hand, "night-1", trials)
    assert (to_do(by_hand), to_do(workload)) == ([], ["sales"])
    maintained(monkeypatch, by_hand, "night-2", trials)
    assert applied == []
    maintained(monkeypatch, workload, "night-3", trials)
    assert (applied, len(trials.asked), to_do(workload)) == (["sales"], 1, [])


def test_a_checkpoint_that_automation_writes_is_in_the_plan(
    workload: Workload, monkeypatch: pytest.MonkeyPatch, applied: list[str]
) -> None:
    readiness(run_of(workload, "look"), ["sales", "shops"])
    propose(workload, action="checkpoint")
    by_hand = replace(workload, tables=tuple(replace(t, maintain="by_hand") for t in workload.tables))
    assert (to_do(by_hand), to_do(workload)) == ([], ["sales"])
    maintained(monkeypatch, by_hand, "night-1", Trials(lambda *_: "accept"))
    assert applied == []
    maintained(monkeypatch, workload, "night-2", Trials(lambda *_: "accept"))
    assert (applied, to_do(workload)) == (["sales"], [])


@pytest.mark.parametrize("action", ["compact", "checkpoint"])
def test_what_cannot_be_applied_waits_for_a_person_until_the_table_changes(
    workload: Workload, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    """Else every night would start Spark for it, and fail as the night before."""
    attempts: list[str | None] = []

    def fails(run: Run, proposal: LayoutProposal, *, who: str | None) -> MaintenanceAction:
        attempts.append(who)
        words = (*(proposal.table, proposal.table_id, proposal.action, "failed", "no permission to write"),)
        failed = MaintenanceAction(f"mnt-{run.run_id}", *words, proposal_id=proposal.id)
        run.append(f"maintain:{proposal.table}", {ACTIONS: [failed]})
        raise MaintenanceFailed("no permission to write", where="table sales", fix="ask for it")

    monkeypatch.setattr(stage, "apply_layout", fails)
    monkeypatch.setattr(stage, "recover", lambda *_: None)
    readiness(run_of(workload, "look"), ["sales", "shops"])
    propose(workload, action=action)
    for night in range(2):
        assert to_do(workload) == ["sales"]
        maintained(monkeypatch, workload, f"night-{night}", Trials(lambda *_: "accept"))
    assert to_do(workload) == []
    (result,) = maintained(monkeypatch, workload, "night-2", Trials(lambda *_: "accept"))
    assert "tried 2 times on this version, the last time: no permission to write" in result.summary
    assert "planopt maintain sales --apply" in result.summary
    assert attempts == [None, None]
    with pytest.raises(MaintenanceFailed):
        maintained(monkeypatch, workload, "day", Trials(lambda *_: "accept"), who="ada")
    append(workload)
    propose(workload, action=action)
    maintained(monkeypatch, workload, "night-3", Trials(lambda *_: "accept"))
    assert attempts == [None, None, "ada", None]


def test_a_proposal_for_another_version_is_neither_planned_nor_tried(
    workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    readiness(run_of(workload, "look"), ["sales", "shops"])
    propose(workload)
    append(workload)
    trials = Trials(lambda *_: "accept")
    maintained(monkeypatch, workload, "night-1", trials)
    (sales,) = [i for i in agenda(workload).table_items if i.table == "sales"]
    assert (trials.asked, sales.layouts) == ([], ())


def test_a_run_over_named_queries_is_about_the_tables_that_they_read(workload: Workload) -> None:
    tables = table_standings(workload, Snapshot(workload.store, workload.name), Pins())
    assert [t.table for t in asked_tables(tables, ["q1"], ["q1"])] == ["sales"]
    assert [t.table for t in asked_tables(tables, ["q1"], [])] == ["sales", "shops"]


def test_a_run_has_the_tables_of_every_named_query_also_of_one_with_nothing_else_to_do(workload: Workload) -> None:
    """As the plan lists them."""
    named = replace(run_of(workload, "night"), named=("q1", "q2"))
    assert tables_asked(named) == ["sales"]
    assert tables_asked(run_of(workload, "night-2")) == ["sales", "shops"]
