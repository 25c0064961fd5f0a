"""What was judged before is not tried again: on the same query, on similar inputs, for a while."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from planopt_assets.decide import decide as decide_module
from planopt_assets.decide.answer import Answer, propose
from planopt_assets.decide.decide import decide
from planopt_assets.decide.history import DAY_S, RETRY_AFTER_DAYS, PastVerdicts, recall, similar
from planopt_assets.loop.decisions import history_of
from planopt_assets.model.conditions import Circumstances, Conditions, TableState
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.past_verdict import PastVerdict, TakenBack
from planopt_assets.model.policy import Policy
from planopt_assets.model.verdict import NOT_TRIED, Outcome
from planopt_assets.model.workload import Knobs
from planopt_assets.store.codecs.forms import dumped
from planopt_tests import rows
from planopt_tests.decide.cases import OPEN_COST, SHUFFLE, WORKED

pytestmark = pytest.mark.fast


@pytest.fixture(autouse=True)
def one_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that always proposes the same, in the place of planopt's own."""

    def rule(evidence: Evidence) -> Answer:
        return propose(dict(FEWER.settings), "because", saved_cpu_ns=480_000_000, arithmetic={"n": 1})

    monkeypatch.setattr(decide_module, "RULES", (("any_rule", rule),))


MIB, GIB = 1024**2, 1024**3
NOW = 400 * DAY_S
FEWER = Policy.of({SHUFFLE: "2"})
BOTH = Policy.of({SHUFFLE: "2", OPEN_COST: "65536"})


def sized(total: int | None, **others: int | None) -> Conditions:
    """Given on a table of this size, and on others."""
    sizes = {"sales": total, **others}
    return Conditions(Circumstances(tables=tuple(TableState(name, "id-1", size) for name, size in sizes.items())))


REJECTED = PastVerdict(
    rows.verdict(
        FEWER,
        "reject",
        verdict_id="ver-1-q-can_1",
        reason="no gain of 3% or more",
        canonical_fingerprint="cql_1",
        context_hash="ctx_1",
        input_bytes=10 * GIB,
        conditions=dumped(sized(10 * GIB).facts()),
    ),
    NOW - 2 * DAY_S,
)


def changed(past: PastVerdict, **changes: Any) -> PastVerdict:
    """The same in all but what is named: of the memory, of the verdict, or of the judgement in it."""
    memory = {name: changes.pop(name) for name in ("judged_at", "taken_back", "sequence") if name in changes}
    judgement = {name: changes.pop(name) for name in ("outcome", "reason") if name in changes}
    if "input_bytes" in changes:
        changes["conditions"] = sized(changes["input_bytes"])
    verdict = replace(past.verdict, judgement=replace(past.verdict.judgement, **judgement), **changes)
    return replace(past, verdict=verdict, **memory)


ACCEPTED = changed(REJECTED, outcome="accept", reason="cpu -30%")


def history(*verdicts: PastVerdict, **others: object) -> PastVerdicts:
    known = {"canonical_fingerprint": "cql_1", "context_hash": "ctx_1", "input_bytes": 11 * GIB, **others}
    sizes = {"sizes": {"sales": known["input_bytes"]}}
    return PastVerdicts(**{**sizes, **known}, verdicts=verdicts)  # type: ignore[arg-type]


# Rejections are remembered


def test_a_policy_rejected_on_similar_inputs_is_not_proposed_again() -> None:
    decision = decide(WORKED, Knobs(), history=history(REJECTED), now=NOW)[0]
    assert (decision.kind, decision.reason) == (
        "no_change",
        "rejected before: no gain of 3% or more (ver-1-q-can_1)",
    )
    assert decision.evidence_ids == ("obs-run-q-b0", "ver-1-q-can_1")
    assert {name: dict(decision.arithmetic)[name] for name in ("history_outcome", "judged_days_ago")} == {
        "history_outcome": "reject",
        "judged_days_ago": 2,
    }


def test_without_history_it_is_proposed() -> None:
    assert decide(WORKED, Knobs(), history=history(), now=NOW)[0].kind == "proposal"


def test_an_unclear_trial_is_remembered_too() -> None:
    memory = recall(FEWER, history(changed(REJECTED, outcome="inconclusive", reason="noise")), NOW)
    assert memory is not None
    assert memory.reason == "tried without a clear answer before: noise (ver-1-q-can_1)"


def test_the_arithmetic_says_how_long_it_really_waits() -> None:
    unclear = [
        changed(REJECTED, outcome="inconclusive", judged_at=NOW - days * DAY_S, id=f"ver-{days}") for days in (9, 5, 1)
    ]
    memory = recall(FEWER, history(*unclear), NOW)
    assert memory is not None
    assert dict(memory.arithmetic)["retry_after_days"] == 12  # 3, doubled after the second and after the third


def test_another_policy_is_not_held_back_by_it() -> None:
    assert recall(Policy.of({SHUFFLE: "4"}), history(REJECTED), NOW) is None
    assert recall(BOTH, history(REJECTED), NOW) is None


def test_the_newest_verdict_is_the_one_that_was_stored_last_whatever_the_clocks_say() -> None:
    ahead = changed(ACCEPTED, judged_at=NOW + DAY_S // 8, sequence=4)
    later = changed(REJECTED, judged_at=NOW - DAY_S // 8, sequence=5)
    memory = recall(FEWER, history(ahead, later), NOW)
    assert memory is not None
    assert memory.reason.startswith("rejected before")


def test_a_policy_that_was_taken_back_counts_from_the_commit_that_did_it() -> None:
    gone = TakenBack("reverted", "pro-q-g2", "it got worse", NOW - DAY_S, sequence=6)
    reverted = changed(ACCEPTED, judged_at=NOW - 2 * DAY_S, sequence=4, taken_back=gone)
    unclear = changed(REJECTED, outcome="inconclusive", judged_at=NOW, sequence=5)
    memory = recall(FEWER, history(reverted, unclear), NOW)
    assert memory is not None
    assert memory.reason.startswith("accepted before, and taken back")


# And re-opened


@pytest.mark.parametrize("outcome", ["inconclusive", "accept"])
def test_after_its_time_a_verdict_no_longer_counts(outcome: Outcome) -> None:
    judged = changed(REJECTED, outcome=outcome, judged_at=NOW - RETRY_AFTER_DAYS[outcome] * DAY_S)
    assert recall(FEWER, history(judged), NOW) is None
    assert recall(FEWER, history(judged), NOW - 1) is not None


@pytest.mark.parametrize(("gib", "again"), [(10, False), (12, False), (12.5, True), (8.1, False), (8, True)])
def test_a_rejection_is_asked_again_after_a_month_and_only_on_inputs_that_have_moved(gib: float, again: bool) -> None:
    now = REJECTED.judged_at + 30 * DAY_S
    assert (recall(FEWER, history(REJECTED, input_bytes=round(gib * GIB)), now) is None) == again
    assert recall(FEWER, history(REJECTED, input_bytes=round(gib * GIB)), now - 1) is not None


@pytest.mark.parametrize(("trials", "days"), [(1, 3), (2, 6), (3, 12), (4, 24)])
def test_after_each_trial_without_a_clear_answer_the_next_one_waits_twice_as_long(trials: int, days: int) -> None:
    unclear = [
        changed(REJECTED, outcome="inconclusive", id=f"ver-{n}", judged_at=NOW - n * DAY_S) for n in range(trials)
    ]
    assert recall(FEWER, history(*unclear), NOW + days * DAY_S - 1) is not None
    assert recall(FEWER, history(*unclear), NOW + days * DAY_S) is None


@pytest.mark.parametrize(
    ("gib", "counts"), [(10, True), (5, True), (20, True), (4, False), (21, False)], ids=lambda value: str(value)
)
def test_inputs_half_to_double_the_size_are_similar(gib: int, counts: bool) -> None:
    assert (recall(FEWER, history(REJECTED, input_bytes=gib * GIB), NOW) is not None) == counts


@pytest.mark.parametrize(
    "others",
    [{"canonical_fingerprint": "cql_2"}, {"context_hash": "ctx_2"}],
    ids=["another query", "another judge, catalogue, rule or Spark"],
)
def test_another_query_or_context_re_opens_it(others: dict[str, str]) -> None:
    assert recall(FEWER, history(REJECTED, **others), NOW) is None


@pytest.mark.parametrize("unknown", ["canonical_fingerprint", "context_hash", "input_bytes"])
def test_what_is_not_known_is_never_the_same(unknown: str) -> None:
    older = changed(REJECTED, **{unknown: None})
    assert recall(FEWER, history(older, **{unknown: None}), NOW) is None
    assert recall(FEWER, history(older), NOW) is None


def test_similar_is_the_same_in_both_directions() -> None:
    sizes = [{"sales": size} for size in (0, 1, 2, 5)]
    assert all(similar(a, b) == similar(b, a) for a in sizes for b in sizes)


def test_a_small_table_that_grew_beside_a_large_one_is_not_similar() -> None:
    past = replace(REJECTED, verdict=replace(REJECTED.verdict, conditions=sized(10 * GIB, days=MIB)))
    as_before, grown = {"sales": 10 * GIB, "days": MIB}, {"sales": 10 * GIB, "days": 100 * MIB}
    assert recall(FEWER, history(past, sizes=as_before), NOW) is not None
    assert recall(FEWER, history(past, sizes=grown), NOW) is None
    assert recall(FEWER, history(past, sizes=grown, similar_within=200.0), NOW) is not None


def test_a_verdict_without_sizes_by_table_is_not_similar_to_anything() -> None:
    older = replace(REJECTED, verdict=replace(REJECTED.verdict, conditions=None))
    assert recall(FEWER, history(older), NOW) is None


# The last word


def test_of_two_verdicts_on_similar_inputs_the_later_one_counts() -> None:
    later = changed(ACCEPTED, id="ver-2-q-can_1", judged_at=NOW - DAY_S)
    memory = recall(FEWER, history(later, REJECTED), NOW)
    assert memory is not None
    assert memory.evidence_ids == ("ver-2-q-can_1",)


def test_a_later_verdict_on_inputs_of_another_size_does_not_count() -> None:
    later = changed(ACCEPTED, id="ver-2-q-can_1", input_bytes=100 * GIB, judged_at=NOW - DAY_S)
    memory = recall(FEWER, history(REJECTED, later), NOW)
    assert memory is not None
    assert memory.evidence_ids == ("ver-1-q-can_1",)


# What was accepted is carried over


def test_an_accepted_policy_needs_no_new_trial_on_similar_inputs() -> None:
    decision = decide(WORKED, Knobs(), history=history(ACCEPTED), now=NOW)[0]
    assert (decision.kind, decision.reason) == (
        "no_change",
        "accepted before on similar inputs: shuffle.partitions=2 by ver-1-q-can_1",
    )
    assert "ver-1-q-can_1" in decision.evidence_ids


def test_a_proposal_that_is_part_of_an_accepted_combination_is_covered_by_it() -> None:
    together = changed(ACCEPTED, id="ver-1-q-can_2", policy=BOTH)
    memory = recall(FEWER, history(REJECTED, together), NOW)
    assert memory is not None
    assert memory.evidence_ids == ("ver-1-q-can_2",)


def test_a_policy_and_a_combination_that_holds_it_are_both_named() -> None:
    together = changed(ACCEPTED, id="ver-1-q-can_2", policy=BOTH)
    memory = recall(FEWER, history(ACCEPTED, together), NOW)
    assert memory is not None
    assert memory.evidence_ids == ("ver-1-q-can_1", "ver-1-q-can_2")


# What was accepted and then taken back

REVERTED = changed(
    ACCEPTED,
    judged_at=NOW - 10 * DAY_S,
    taken_back=TakenBack("reverted", "pro-q-g2", "shuffle_write_bytes is 3 times what was proven", NOW - DAY_S),
)
EXPIRED = changed(REVERTED, taken_back=TakenBack("expired", "pro-q-g2", "the engine changed", NOW - DAY_S))


def test_a_policy_that_watch_took_back_is_not_accepted_before_but_rejected_since_then() -> None:
    decision = decide(WORKED, Knobs(), history=history(REVERTED), now=NOW)[0]
    assert (decision.kind, decision.reason) == (
        "no_change",
        "accepted before, and taken back: shuffle_write_bytes is 3 times what was proven (pro-q-g2)",
    )
    assert decision.evidence_ids == ("obs-run-q-b0", "pro-q-g2")  # who names the verdict would carry it over
    numbers = dict(decision.arithmetic)
    assert (numbers["history_outcome"], numbers["judged_days_ago"], numbers["retry_after_days"]) == ("reject", 1, 30)


def test_it_may_be_tried_again_a_month_after_it_was_taken_back_if_inputs_have_moved() -> None:
    larger = history(REVERTED, input_bytes=13 * GIB)
    assert recall(FEWER, larger, NOW + 29 * DAY_S - 1) is not None
    assert recall(FEWER, larger, NOW + 29 * DAY_S) is None
    assert recall(FEWER, history(REVERTED), NOW + 29 * DAY_S) is not None


def test_a_combination_that_was_taken_back_says_nothing_about_its_parts() -> None:
    together = changed(REVERTED, id="ver-1-q-can_2", policy=BOTH)
    assert recall(FEWER, history(together), NOW) is None
    assert recall(BOTH, history(together), NOW) is not None


def test_a_policy_accepted_again_after_it_was_taken_back_is_accepted() -> None:
    again = changed(ACCEPTED, id="ver-2-q-can_1", judged_at=NOW - 3600)
    memory = recall(FEWER, history(again, REVERTED), NOW)
    assert memory is not None
    assert memory.evidence_ids == ("ver-2-q-can_1",)


def test_a_policy_that_expired_may_be_tried_again_at_once() -> None:
    assert recall(FEWER, history(EXPIRED), NOW) is None
    older = changed(REJECTED, id="ver-0-q-can_1", judged_at=NOW - 12 * DAY_S)
    assert recall(FEWER, history(older, EXPIRED), NOW) is None  # what was said before it was accepted is settled


def test_a_veto_outranks_memory_and_memory_outranks_the_size_of_the_gain() -> None:
    denied = decide(WORKED, Knobs(deny=(SHUFFLE,)), history=history(ACCEPTED), now=NOW)[0]
    assert denied.reason.startswith("vetoed:")
    rare = decide(replace(WORKED, runs_per_day=0.01), Knobs(), history=history(ACCEPTED), now=NOW)[0]
    assert rare.reason.startswith("accepted before")


def test_the_same_history_in_another_order_gives_the_same_decisions() -> None:
    verdicts = [REJECTED, changed(ACCEPTED, policy=BOTH, id="ver-1-q-can_2")]
    one, other = (decide(WORKED, Knobs(), history=history(*v), now=NOW) for v in (verdicts, verdicts[::-1]))
    assert repr(one) == repr(other)


# From stored rows


def test_a_part_that_was_not_tried_by_itself_is_not_remembered_as_tried() -> None:
    early, late = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    context = {"canonical_fingerprint": "can", "context_hash": "ctx", "input_bytes": 10, "recorded_at": early}
    reasons = [f"{NOT_TRIED}: it is part of a, b, which is accepted", "noise hides the gain"]
    found = [
        history_of(
            rows.standing(
                artifacts=[rows.artifact(recorded_at=late)],
                past_verdicts=[rows.verdict(outcome="inconclusive", reason=reason, **context)],
            )
        ).verdicts
        for reason in reasons
    ]
    assert [[v.verdict.reason for v in verdicts] for verdicts in found] == [[], ["noise hides the gain"]]
