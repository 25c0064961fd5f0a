"""The stage `maintain` without Spark: which layouts it tries, alone or together, and what it remembers of them.

The trial itself is scripted: `Trials` answers in place of clones and an experiment, with what would be stored.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planopt_assets.errors import MaintenanceRefused, TableReplaced, TableUnreadable
from planopt_assets.loop.maintaining.layout_trial import all_or_none
from planopt_assets.loop.maintaining.records import keep_trial
from planopt_assets.loop.maintaining.remembering import proven_verdict, readers
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages import maintain as stage
from planopt_assets.loop.stages.maintain import table_step
from planopt_assets.model.layout_verdict import LayoutVerdict
from planopt_assets.model.maintenance_action import MaintenanceAction
from planopt_assets.model.workload import Maintenance, Query, Workload
from planopt_assets.store.codecs.maintaining import ACTIONS, LAYOUT_VERDICTS
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.loop.scripted_layouts import (
    ONE,
    TWO,
    Observed,
    Trials,
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
