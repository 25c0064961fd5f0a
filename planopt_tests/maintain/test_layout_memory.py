"""What is remembered of layout verdicts: who is tried, who is proven, who waits, and for what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planopt_assets.maintain.layout_memory import TRIES, LayoutMemory, Reader, Remembered, readers_hash
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.model.layout_verdict import LayoutVerdict
from planopt_assets.model.maintenance_action import MaintenanceAction

pytestmark = pytest.mark.fast

NOW = LayoutProposal("sales", "t-1", 45, "zorder", ("shop",), 1 << 25, files_before=46, bytes_before=4_600)
THEN = replace(NOW, version=39, files_before=40, bytes_before=4_000)
MERGE = LayoutProposal("sales", "t-1", 45, "compact", files_before=46, bytes_before=4_600)
SHOPS = LayoutProposal("shops", "t-2", 3, "compact", files_before=12, bytes_before=1_200)


def verdict(outcome: Any = "reject", of: LayoutProposal = THEN, **changes: Any) -> LayoutVerdict:
    known: dict[str, Any] = {
        "layout_id": of.layout_id,
        "readers": "rdr_1",
        "files_before": of.files_before,
        "bytes_before": of.bytes_before,
        "error_spent": 0.01,
        **changes,
    }
    return LayoutVerdict("ver-1", of.id, of.table, of.table_id, of.version, outcome, "because", True, **known)


def memory(
    *verdicts: LayoutVerdict, actions: tuple[MaintenanceAction, ...] = (), readers: str = "rdr_1"
) -> LayoutMemory:
    return LayoutMemory(readers, {p.id: p for p in (THEN, NOW, MERGE)}, verdicts, actions)


def of_now(*verdicts: LayoutVerdict, **more: Any) -> Remembered:
    return memory(*verdicts, **more).of(NOW)


def test_what_was_never_tried_is_due() -> None:
    assert (of_now().state, of_now().why) == ("due", "never tried")


def test_a_verdict_on_the_same_readers_holds_over_versions_of_a_growing_table() -> None:
    assert of_now(verdict("accept")).state == "proven"
    waits = of_now(verdict("reject"))
    assert (waits.state, waits.why) == (
        "waits",
        "rejected on these readers: because; tried again when a reader, a rate or a limit changes, or files or bytes "
        "by half",
    )


def test_other_readers_ask_again_whatever_was_said() -> None:
    for outcome in ("accept", "reject", "inconclusive"):
        found = of_now(verdict(outcome), readers="rdr_2")
        assert (found.state, found.why) == (
            "due",
            "its readers, their rates or limits have changed since it was tried",
        )


@pytest.mark.parametrize(
    "other",
    [
        Reader("q2", "qry_1", 24.0, 0.1, "pol_0"),
        Reader("q1", "qry_2", 24.0, 0.1, "pol_0"),
        Reader("q1", "qry_1", 96.0, 0.1, "pol_0"),
        Reader("q1", "qry_1", 24.0, 0.5, "pol_0"),
        Reader("q1", "qry_1", 24.0, 0.1, "pol_1"),
    ],
    ids=["another query", "another text", "another rate", "another limit", "another policy"],
)
def test_readers_are_queries_with_their_rates_limits_and_policies(other: Reader) -> None:
    one, limits = Reader("q1", "qry_1", 24.0, 0.1, "pol_0"), {"pay_back_days": 30.0}
    assert readers_hash([one], limits) == readers_hash([replace(one, runs_per_day=24)], limits)
    assert readers_hash([one], limits) != readers_hash([other], limits)
    assert readers_hash([one], limits) != readers_hash([one, other], limits)
    assert readers_hash([one], limits) != readers_hash([one], {"pay_back_days": 7.0})


def test_a_verdict_of_an_older_planopt_is_not_trusted() -> None:
    old = verdict("accept", layout_id=None, readers=None, bytes_before=None, error_spent=None)
    found = memory(old).of(THEN)
    assert (found.state, found.verdict) == ("due", old)
    assert found.why == "it was tried by an older planopt, which did not store for whom"


def test_a_table_that_has_moved_by_half_is_another_table_to_lay_out() -> None:
    found = memory(verdict()).of(replace(NOW, files_before=61))
    assert (found.state, found.why) == ("due", "the table has moved since it was tried: 40 -> 61 files")
    assert memory(verdict()).of(replace(NOW, files_before=60, bytes_before=6_000)).state == "waits"
    assert memory(verdict("accept")).of(replace(NOW, bytes_before=9_000)).state == "due"


def test_what_is_inconclusive_is_tried_three_times_and_then_on_a_persons_word() -> None:
    unsure = verdict("inconclusive")
    assert [of_now(*[unsure] * tries).state for tries in range(1, TRIES + 1)] == ["due", "due", "waits"]
    often = memory(*[unsure] * TRIES)
    assert "or by planopt maintain sales" in often.of(NOW).why
    assert often.of(NOW, by_hand=True).state == "due"
    assert memory(verdict("reject")).of(NOW, by_hand=True).state == "waits"
    assert of_now(*[replace(unsure, readers="rdr_0")] * TRIES, unsure).state == "due"  # of other readers: not counted


def test_the_newest_verdict_counts() -> None:
    assert of_now(verdict("reject"), verdict("accept")).state == "proven"
    assert of_now(verdict("accept"), verdict("reject")).state == "waits"


def test_another_action_or_other_columns_are_another_layout() -> None:
    assert memory(verdict()).of(MERGE).state == "due"
    assert memory(verdict()).of(replace(NOW, columns=("id",))).state == "due"
    assert memory(verdict()).of(replace(NOW, table_id="t-9")).state == "due"


def applied(id_: str, of: LayoutProposal = THEN) -> MaintenanceAction:
    return MaintenanceAction(id_, "sales", "t-1", of.action, "applied", "", of.id, "ver-1", 39, 40)


def undone(of: str, who: str | None = "ada") -> MaintenanceAction:
    return MaintenanceAction(f"{of}-undo", "sales", "t-1", "restore", "undone", "", undoes=of, who=who)


def test_what_a_person_took_back_automation_does_not_put_back() -> None:
    found = of_now(verdict("accept"), actions=(applied("mnt-1"), undone("mnt-1")))
    assert (found.state, found.why) == (
        "taken_back",
        "ada took it back: only a person applies it again (planopt maintain sales --apply)",
    )
    taken = memory(verdict("accept"), actions=(applied("mnt-1"), undone("mnt-1")))
    assert taken.of(NOW, by_hand=True).state == "proven"
    assert taken.of(MERGE).state == "due"  # nobody took merging back
    again = (applied("mnt-1"), undone("mnt-1"), applied("mnt-2", NOW))
    assert of_now(verdict("accept"), actions=again).state == "proven"  # a person has applied it since


def test_layouts_that_failed_together_are_not_tried_together_again_but_alone() -> None:
    ids = (MERGE.layout_id, SHOPS.layout_id)
    joint = verdict("reject", MERGE, together=ids)
    known = memory(joint)
    assert known.of(MERGE).state == "due"
    assert known.tried_together(MERGE, ids[::-1])
    assert not known.tried_together(MERGE, (*ids, "lyt_3"))
    assert not memory(joint, readers="rdr_2").tried_together(MERGE, ids)
    assert memory(verdict("accept", MERGE, together=ids)).of(MERGE).state == "proven"


def test_trials_of_one_action_on_one_table_share_an_error_budget() -> None:
    other_columns = replace(THEN, columns=("id",))
    known = LayoutMemory(
        "rdr_2",
        {p.id: p for p in (THEN, other_columns, MERGE)},
        [verdict(), verdict(of=other_columns), verdict(of=MERGE), verdict(error_spent=None)],
        (),
    )
    assert (known.of(NOW).error.looked, known.of(MERGE).error.looked) == (2, 1)
    assert known.of(NOW).error.available == pytest.approx(0.05 * 0.4 / 6)
