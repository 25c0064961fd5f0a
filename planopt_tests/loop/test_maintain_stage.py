"""The stage `maintain` without Spark: which layouts it tries, alone or together, and what it remembers of them.

The trial itself is scripted: `Trials` answers in place of clones and an experiment, with what would be stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.defs.table_stages import tables_asked
from planopt_assets.engine.delta.pins import Pins
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import MaintenanceFailed, MaintenanceRefused, TableReplaced, TableUnreadable
from planopt_assets.loop.agenda import Agenda, agenda_of
from planopt_assets.loop.maintaining.layout_trial import Tried, all_or_none
from planopt_assets.loop.maintaining.readers import readers_word
from planopt_assets.loop.maintaining.records import keep_trial
from planopt_assets.loop.maintaining.remembering import proven_verdict, readers
from planopt_assets.loop.maintaining.table_steps import maintain_step_of
from planopt_assets.loop.run import Run, StageResult, read_standings
from planopt_assets.loop.stages import maintain as stage
from planopt_assets.loop.stages.maintain import maintain, table_step
from planopt_assets.loop.stages.readiness import readiness
from planopt_assets.loop.standing import Standing
from planopt_assets.loop.table_standing import TableStanding, asked_tables, table_standings
from planopt_assets.model.layout_proposal import ExpectedRead, LayoutProposal
from planopt_assets.model.layout_verdict import LayoutVerdict
from planopt_assets.model.maintenance_action import MaintenanceAction
from planopt_assets.model.workload import Maintenance, Query, Workload
from planopt_assets.store.codecs.maintaining import ACTIONS, LAYOUT_VERDICTS, PROPOSALS
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.no_spark import no_spark
from planopt_tests.store.written import WrittenStore

pytestmark = pytest.mark.fast

ONE = Query("q1", sql="SELECT shop FROM sales", runs_per_day=96.0)
TWO = Query("q2", sql="SELECT id FROM sales", runs_per_day=2.0)
Tables = tuple[str, ...]


class Observed(WrittenStore):
    """Observations of one of several queries."""

    def __init__(self, workload: Workload, query: Query, run_id: str) -> None:
        super().__init__(replace(workload, tables=tuple(t for t in workload.tables if t.name == "sales")))
        self._query_id = query.id
        self.observe(query, run_id)

    def append(self, table: str, row: dict[str, Any], **how: Any) -> dict[str, Any]:
        return super().append(table, {**row, "query_id": self._query_id}, **how)


class Worked(Exception):
    """The stage began to work."""


PERMISSIONS = [(mode, maintain) for mode in ("observe", "advise", "auto") for maintain in ("never", "by_hand", "auto")]
"""Each mode of a workload with each `maintain` of a table."""


class Trials:
    """What a trial of layouts comes to, by the tables and the action; and which were asked for."""

    def __init__(self, told: Any) -> None:
        self._told = told
        self.asked: list[tuple[Tables, str]] = []

    def __call__(self, run: Run, proposals: Sequence[LayoutProposal]) -> Tried:
        tables = tuple(p.table for p in proposals)
        self.asked.append((tables, proposals[0].action))
        answer = self._told(tables, proposals[0].action)
        if isinstance(answer, Exception):
            raise answer
        outcomes = [answer] * len(tables) if isinstance(answer, str) else answer
        together = tuple(p.layout_id for p in proposals) if len(proposals) > 1 else ()
        return Tried(
            tuple(
                LayoutVerdict(
                    f"ver-{run.run_id}-{len(self.asked)}-{p.table}",
                    *(p.id, p.table, p.table_id, p.version, outcome, "as told", True),
                    files_before=p.files_before,
                    bytes_before=p.bytes_before,
                    layout_id=p.layout_id,
                    readers=readers_word(run.workload, readers(run), p.table),
                    together=together,
                    error_spent=0.01,
                )
                for p, outcome in zip(proposals, outcomes, strict=True)
            ),
            (),
        )


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    """`sales`, read by both queries, and `shops`; both may be laid out by automation."""
    made = workload_of(make_tables(tmp_path, files=2, rows=5), [ONE, TWO], mode="auto")
    made = replace(made, tables=tuple(replace(t, maintain="auto") for t in made.tables))
    Observed(made, ONE, "run-1"), Observed(made, TWO, "run-2")
    return made


def run_of(workload: Workload, name: str) -> Run:
    return Run(Workspace(workload, no_spark), name)


def propose(workload: Workload, table: str = "sales", action: Any = "compact", **more: Any) -> LayoutProposal:
    run = run_of(workload, f"propose-{table}-{action}")
    pinned = next(t for t in run.workspace.tables if t.name == table)
    read = (ExpectedRead("q1", 96.0, 40, 4_000, 1, 4_000, more.pop("saves", 1_000)),)
    known: dict[str, Any] = {"files_before": 40, "bytes_before": 4_000, "expected": read, "reason": "small", **more}
    made = LayoutProposal(table, pinned.table_id, pinned.version, action, **known)
    run = run_of(workload, f"propose-{made.id}")
    run.append("propose", {PROPOSALS: [made]})
    return made


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The layouts that were put on their tables."""
    done: list[str] = []

    def apply(run: Run, proposal: LayoutProposal, *, who: str | None) -> MaintenanceAction:
        if proposal.needs_proof:
            proven_verdict(run, proposal, by_hand=who is not None)
        done.append(proposal.table)
        action = MaintenanceAction(
            *(f"mnt-{run.run_id}-{proposal.table}", proposal.table, proposal.table_id, proposal.action, "applied", ""),
            proposal_id=proposal.id,
        )
        run.append(f"maintain:{proposal.table}", {ACTIONS: [action]})
        return action

    monkeypatch.setattr(stage, "apply_layout", apply)
    monkeypatch.setattr(stage, "recover", lambda *_: None)
    return done


def maintained(
    monkeypatch: pytest.MonkeyPatch, workload: Workload, name: str, trials: Trials, *tables: str, **how: Any
) -> list[StageResult]:
    monkeypatch.setattr(stage, "try_layouts", trials)
    return maintain(run_of(workload, name), tables or ["sales"], **how)


def append(workload: Workload) -> None:
    row = pa.table({"id": pa.array([9], pa.int64())})
    write_deltalake(str(workload.table("sales").path), row, mode="append", schema_mode="merge")


def test_a_rejected_layout_of_a_growing_table_is_not_tried_every_night(
    workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = Trials(lambda *_: "reject")
    propose(workload)
    maintained(monkeypatch, workload, "night-1", trials)
    append(workload)
    propose(workload, files_before=41)
    (result,) = maintained(monkeypatch, workload, "night-2", trials)
    assert len(trials.asked) == 1
    assert "rejected on these readers: as told; tried again when" in result.summary
    append(workload)
    propose(workload, files_before=80)
    maintained(monkeypatch, workload, "night-3", trials)
    assert len(trials.asked) == 2


def test_an_accepted_layout_is_applied_on_a_later_version_and_not_for_other_readers(
    workload: Workload, monkeypatch: pytest.MonkeyPatch, applied: list[str]
) -> None:
    trials = Trials(lambda *_: "accept")
    propose(workload)
    maintained(monkeypatch, workload, "night-1", trials, apply=False)
    append(workload)
    later = propose(workload, files_before=41)
    proven_verdict(run_of(workload, "person"), later, by_hand=True)
    often = replace(workload, queries=(ONE, replace(TWO, runs_per_day=2_400.0)))
    with pytest.raises(MaintenanceRefused, match="its readers, their rates or limits have changed"):
        proven_verdict(run_of(often, "person"), later, by_hand=True)
    stricter = replace(workload, maintenance=Maintenance(pay_back_days=1.0))
    with pytest.raises(MaintenanceRefused, match="its readers"):
        proven_verdict(run_of(stricter, "person"), later, by_hand=True)
    maintained(monkeypatch, workload, "night-2", trials)
    assert (applied, len(trials.asked)) == (["sales"], 1)


def test_a_step_is_computed_once_until_something_is_stored(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    made, run = propose(workload), run_of(workload, "night")
    read: list[str] = []
    reads = Snapshot.read

    def counted(self: Snapshot, codec: Any, **wanted: Any) -> Any:
        read.append(codec.table)
        return reads(self, codec, **wanted)

    monkeypatch.setattr(Snapshot, "read", counted)
    first = table_step(run, "sales", None)
    before = len(read)
    assert table_step(run, "sales", None) is first
    assert len(read) == before
    table_step(run, "sales", "ada")  # a person's memory is another, of the same rows
    assert len(read) == before
    keep_trial(run, Trials(lambda *_: "reject")(run, [made]))
    assert [one.state for one in (*first.to_prove, *table_step(run, "sales", None).to_prove)] == ["due", "waits"]


def test_what_is_inconclusive_is_tried_again(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    trials = Trials(lambda *_: "inconclusive")
    propose(workload)
    for night in range(5):
        maintained(monkeypatch, workload, f"night-{night}", trials)
    assert len(trials.asked) == 3
    maintained(monkeypatch, workload, "day", trials, who="ada", apply=False)
    assert len(trials.asked) == 4


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


def test_what_a_person_took_back_is_only_proposed(
    workload: Workload, monkeypatch: pytest.MonkeyPatch, applied: list[str]
) -> None:
    trials = Trials(lambda *_: "accept")
    made = propose(workload)
    maintained(monkeypatch, workload, "night-1", trials)
    undo = MaintenanceAction(
        *("mnt-undo", "sales", made.table_id, "restore", "undone", ""), undoes="mnt-night-1-sales", who="ada"
    )
    run_of(workload, "day").append("undo", {ACTIONS: [undo]})
    append(workload)
    propose(workload)
    (result,) = maintained(monkeypatch, workload, "night-2", trials)
    assert applied == ["sales"]
    assert "ada took it back" in result.summary
    maintained(monkeypatch, workload, "day-2", trials, who="ada")
    assert applied == ["sales", "sales"]


@pytest.mark.parametrize("outcome", ["accept", "reject", "inconclusive"])
def test_a_table_is_changed_by_a_new_verdict_and_not_by_an_old_one(
    workload: Workload, monkeypatch: pytest.MonkeyPatch, outcome: str
) -> None:
    by_hand = replace(workload, tables=tuple(replace(t, maintain="by_hand") for t in workload.tables))
    read: list[str] = []
    monkeypatch.setattr(stage, "trial_cpu", lambda _, verdict: read.append(verdict.id) or {})
    propose(by_hand)
    (new,) = maintained(monkeypatch, by_hand, "night-1", Trials(lambda *_: outcome))
    assert (new.changed, read) == (True, ["ver-night-1-1-sales"])
    assert new.markdown.startswith(f"**{outcome}**")
    monkeypatch.setattr(Run, "no_trials", "no time is left")
    (old,) = maintained(monkeypatch, by_hand, "night-2", Trials(lambda *_: outcome))
    assert (old.changed, len(read)) == (False, 1)


def test_a_verdict_is_shown_though_no_time_is_left_for_the_next_layout(
    workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    propose(workload), propose(workload, action="zorder", columns=("shop",))
    trials = Trials(lambda *_: "reject")
    monkeypatch.setattr(Run, "no_trials", property(lambda _: "no time is left" if trials.asked else ""))
    (result,) = maintained(monkeypatch, workload, "night-1", trials)
    assert (result.changed, len(trials.asked)) == (True, 1)
    assert "as told" in result.summary
    assert result.summary.endswith("; no time is left")


def test_layouts_that_are_not_accepted_together_are_stored_and_tried_alone_the_next_time(
    workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    propose(workload), propose(workload, "shops")
    trials = Trials(lambda tables, _: "reject" if len(tables) > 1 else "inconclusive")
    maintained(monkeypatch, workload, "night-1", trials, "sales", "shops", apply=False)
    assert [tables for tables, _ in trials.asked] == [("sales", "shops"), ("sales",), ("shops",)]
    stored = run_of(workload, "look").snapshot.read(LAYOUT_VERDICTS)
    assert [len(v.together) for v in stored] == [2, 2, 0, 0]
    maintained(monkeypatch, workload, "night-2", trials, "sales", "shops", apply=False)
    assert [tables for tables, _ in trials.asked[3:]] == [("sales",), ("shops",)]


def test_together_means_all_and_the_one_that_does_not_pay_is_left_out(
    workload: Workload, monkeypatch: pytest.MonkeyPatch, applied: list[str]
) -> None:
    propose(workload), propose(workload, "shops")
    trials = Trials(lambda tables, _: ["inconclusive", "reject"] if len(tables) > 1 else "accept")
    maintained(monkeypatch, workload, "night-1", trials, "sales", "shops")
    assert [tables for tables, _ in trials.asked] == [("sales", "shops"), ("sales",), ("shops",)]
    assert applied == ["sales", "shops"]


def test_no_layout_is_accepted_without_the_others_of_its_trial() -> None:
    paid, unpaid = (
        LayoutVerdict(f"ver-{t}", f"lay_{t}", t, f"id-{t}", 1, outcome, f"the reason of {t}", True)
        for t, outcome in (("sales", "accept"), ("shops", "reject"))
    )
    assert all_or_none([paid, paid]) == (paid, paid)
    assert all_or_none([unpaid]) == (unpaid,)
    left, out = all_or_none([paid, unpaid])
    assert (left.outcome, out) == ("inconclusive", unpaid)
    assert left.reason == (
        "accepted only together with shops, which is not: to be tried without it: the reason of sales"
    )


def test_automation_joins_only_tables_that_it_may_write_and_that_fit(
    workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    propose(workload), propose(workload, "shops")
    tables = [replace(t, maintain="by_hand") if t.name == "shops" else t for t in workload.tables]
    for other in (
        replace(workload, tables=tuple(tables)),
        replace(workload, maintenance=Maintenance(trial_bytes=5_000)),
    ):
        trials = Trials(lambda *_: "inconclusive")
        maintained(monkeypatch, other, f"night-{other.maintenance.trial_bytes}", trials, "sales", "shops", apply=False)
        assert [tables for tables, _ in trials.asked] == [("sales",), ("shops",)]


def test_automation_goes_on_with_the_next_table_and_a_person_gets_the_error(
    workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = TableUnreadable("its log is gone", where="table sales", fix="bring it back")
    other = TableReplaced("another table is there now", where="table shops", fix="run again")
    propose(workload), propose(workload, "shops")
    trials = Trials(lambda tables, _: gone if "sales" in tables else "accept")

    def replaced(*_: Any, **__: Any) -> Any:
        raise other

    monkeypatch.setattr(stage, "apply_layout", replaced)
    sales, shops = maintained(monkeypatch, workload, "night-1", trials, "sales", "shops")
    assert sales.summary.startswith("not tried: PLN-206")
    assert "not applied: PLN-607" in shops.summary
    with pytest.raises(TableUnreadable):
        maintained(monkeypatch, workload, "day", trials, "sales", who="ada")


def test_a_query_that_was_not_observed_on_this_version_is_asked_too(workload: Workload) -> None:
    append(workload)
    Observed(workload, ONE, "run-3")
    found = readers(run_of(workload, "night"))
    assert {one.query_id: one.standing.captured for one in found.of(["sales"])} == {"q1": True, "q2": False}
    new = replace(workload, queries=(*workload.queries, Query("q3", sql="SELECT 1 FROM sales")))
    assert readers(run_of(new, "night")).not_asked() == "; not asked: q3 (never observed)"
