"""The state machine: which generation follows from which event, and which event is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planopt_assets.errors import (
    NothingToChange,
    PlanoptError,
    PolicyFixed,
    PromotionRefused,
    VerdictSpent,
    VerdictStale,
)
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.promotion import GENESIS, Chain
from planopt_assets.model.workload import Knobs
from planopt_assets.promote.chain import taken_back
from planopt_assets.promote.transitions import Accept, Event, Expire, Revert, next_generation
from planopt_tests.promote.events import (
    EXPIRED,
    REGRESSED,
    ROLLED_BACK,
    UNFIX,
    A,
    B,
    C,
    accept,
    chain_of,
    fix,
    verdict_of,
)
from planopt_tests.rows import Row, criteria

pytestmark = pytest.mark.fast

ROLLED_BACK_FAR = Revert("original", "start again", who="ada")


def told(chain: Chain) -> tuple[str, Policy]:
    return chain[-1].state, chain[-1].policy


# What follows

WAYS: dict[str, tuple[tuple[Event, ...], tuple[str, Policy]]] = {
    "a verdict puts its policy in force": ((accept(A),), ("accepted", A)),
    "a better policy takes its place": ((accept(A), accept(B)), ("accepted", B)),
    "a person's choice needs no verdict": ((fix(A),), ("fixed", A)),
    "a person may choose original": ((accept(A), fix(ORIGINAL)), ("fixed", ORIGINAL)),
    "a person's choice takes the place of automation's": ((accept(A), fix(B)), ("fixed", B)),
    "and of an earlier choice": ((fix(A), fix(B)), ("fixed", B)),
    "unpinned, what was accepted before is in force again": ((accept(A), fix(B), UNFIX), ("accepted", A)),
    "also where the same policy was pinned": ((accept(A), fix(A), UNFIX), ("accepted", A)),
    "unpinned, an earlier pin stays away": ((fix(A), fix(B), UNFIX), ("reverted", ORIGINAL)),
    "unpinned, original where nothing was accepted": ((fix(A), UNFIX), ("reverted", ORIGINAL)),
    "a regression goes back to the last good policy": ((accept(A), accept(B), REGRESSED), ("reverted", A)),
    "a second regression goes on to original": (
        (accept(A), accept(B), REGRESSED, REGRESSED),
        ("reverted", ORIGINAL),
    ),
    "a regression of the first policy goes to original": ((accept(A), REGRESSED), ("reverted", ORIGINAL)),
    "what was reverted once is not good": (
        (accept(A), accept(B), accept(A, 2), REGRESSED, REGRESSED),
        ("reverted", ORIGINAL),
    ),
    "unless it was accepted again": (
        (accept(A), REGRESSED, accept(A, 2), accept(B), REGRESSED),
        ("reverted", A),
    ),
    "what expired is not good": ((accept(A), EXPIRED, accept(B), REGRESSED), ("reverted", ORIGINAL)),
    "what was unpinned is not good for automation": (
        (fix(A), UNFIX, accept(B), REGRESSED),
        ("reverted", ORIGINAL),
    ),
    "a rollback goes to the last good policy": ((accept(A), accept(B), ROLLED_BACK), ("reverted", A)),
    "a rollback to original skips it": ((accept(A), accept(B), ROLLED_BACK_FAR), ("reverted", ORIGINAL)),
    "what a person passed over is not good": (
        (accept(A), accept(B), ROLLED_BACK_FAR, accept(C), REGRESSED),
        ("reverted", ORIGINAL),
    ),
    "a rollback of a pin goes to what was accepted": ((accept(A), fix(B), ROLLED_BACK), ("reverted", A)),
    "a rollback to an earlier pin pins it again": ((fix(A), fix(B), ROLLED_BACK), ("fixed", A)),
    "and a second one goes on to original": ((fix(A), fix(B), ROLLED_BACK, ROLLED_BACK), ("reverted", ORIGINAL)),
    "expired evidence leaves original": ((accept(A), accept(B), EXPIRED), ("expired", ORIGINAL)),
    "after an expiry a new verdict counts": ((accept(A), EXPIRED, accept(A, 2)), ("accepted", A)),
    "after a rollback a person may promote again": (
        (accept(A), ROLLED_BACK, accept(A, by_hand=True)),
        ("accepted", A),
    ),
    "after an expiry too": ((accept(A), EXPIRED, accept(A, by_hand=True)), ("accepted", A)),
    "unpinned, a verdict that was never taken back counts": ((fix(A), UNFIX, accept(A)), ("accepted", A)),
}


@pytest.mark.parametrize(("events", "expected"), WAYS.values(), ids=WAYS)
def test_what_is_in_force(events: tuple[Event, ...], expected: tuple[str, Policy]) -> None:
    assert told(chain_of(*events)) == expected


@pytest.mark.parametrize("events", [events for events, _ in WAYS.values()], ids=WAYS)
def test_every_generation_follows_from_the_one_before(events: tuple[Event, ...]) -> None:
    chain = chain_of(*events)
    assert [p.generation for p in chain] == list(range(1, len(events) + 1))
    assert [p.previous_hash for p in chain] == [GENESIS, *[p.chain_hash for p in chain[:-1]]]


def test_a_promotion_names_the_verdict_the_candidate_and_the_inputs_it_rests_on() -> None:
    row = verdict_of(A)
    (made,) = chain_of(accept(A))
    assert (made.id, made.workload, made.query_id, made.who) == ("pro-q-g1", "demo", "q", None)
    assert (made.verdict_id, made.candidate_id, made.input_fingerprint, made.reason) == (
        row.id,
        row.candidate_id,
        row.input_fingerprint,
        row.reason,
    )


def test_a_pin_names_the_person_and_the_reason_and_no_verdict() -> None:
    (made,) = chain_of(fix(A))
    assert (made.who, made.reason, made.verdict_id, made.candidate_id) == ("ada", "it is known to be good", "", "")


def test_what_is_restored_rests_on_what_it_rested_on() -> None:
    chain = chain_of(accept(A), accept(B), REGRESSED)
    assert chain[-1].restores == 1
    assert chain[-1].verdict_id == chain[0].verdict_id
    assert chain[-1].candidate_id == chain[0].candidate_id
    assert (chain[-1].who, chain[-1].reason) == (None, "it got worse")


def test_original_restored_rests_on_nothing() -> None:
    last = chain_of(accept(A), EXPIRED)[-1]
    assert (last.restores, last.verdict_id, last.candidate_id, last.input_fingerprint) == (0, "", "", "")


def test_what_made_it_go_back_is_kept() -> None:
    revert = replace(REGRESSED, evidence=("obs-9-q-b0", "ver-1-q-x"))
    assert chain_of(accept(A), revert)[-1].evidence_ids == ("obs-9-q-b0", "ver-1-q-x")
    assert chain_of(accept(A), Expire("why", ("obs-9-q-b0",)))[-1].evidence_ids == ("obs-9-q-b0",)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (fix(A), replace(fix(A), who="bob")),
        (REGRESSED, replace(REGRESSED, evidence=("obs-1-q-b0",))),
        (ROLLED_BACK, ROLLED_BACK_FAR),
        (REGRESSED, ROLLED_BACK),
    ],
    ids=["who", "evidence", "where to", "person or automation"],
)
def test_the_hash_covers(one: Event, other: Event) -> None:
    start = (accept(A), accept(B)) if isinstance(one, Revert) else ()
    assert chain_of(*start, one)[-1].chain_hash != chain_of(*start, other)[-1].chain_hash


# What is refused


def refused(chain: Chain, event: Event) -> PlanoptError:
    with pytest.raises(PlanoptError) as refusal:
        next_generation("demo", "q", chain, event)
    assert refusal.value.where == "query q"
    return refusal.value


AUTOMATIC: dict[str, Event] = {
    "accept": accept(B),
    "accept, launched by a person": accept(B, by_hand=True),
    "revert": REGRESSED,
    "expire": EXPIRED,
}


@pytest.mark.parametrize("event", AUTOMATIC.values(), ids=AUTOMATIC)
@pytest.mark.parametrize("before", [(), (accept(C),)], ids=["alone", "over an accepted policy"])
def test_automation_never_overrides_a_pin(before: tuple[Event, ...], event: Event) -> None:
    error = refused(chain_of(*before, fix(A)), event)
    assert isinstance(error, PolicyFixed)
    assert error.what == f"generation {len(before) + 1} is pinned by ada: it is known to be good"
    assert error.fix == "remove the pin with `planopt unpin q`"


def test_a_pin_restored_by_a_person_is_a_pin() -> None:
    assert isinstance(refused(chain_of(fix(A), fix(B), ROLLED_BACK), accept(C)), PolicyFixed)


def test_a_pin_of_original_is_a_pin() -> None:
    assert isinstance(refused(chain_of(fix(ORIGINAL)), accept(C)), PolicyFixed)


def asked(**changes: Any) -> Accept:
    return replace(accept(A), **changes)


@pytest.mark.parametrize("stored", [(), (verdict_of(B),), (verdict_of(A, 2),)], ids=["none", "another's", "another"])
def test_a_verdict_that_is_not_in_the_store_is_refused(stored: tuple[Any, ...]) -> None:
    error = refused((), asked(stored=stored))
    assert isinstance(error, PromotionRefused)
    assert error.what.startswith(f"the store has no verdict ver-1-q-{A.id[4:]} of candidate can_")


@pytest.mark.parametrize(
    ("changes", "doubt"),
    [
        ({"outcome": "reject"}, "it says reject"),
        ({"outcome": "inconclusive"}, "it says inconclusive"),
        ({"results_equal": False}, "its results are not known to be equal"),
        ({"results_equal": None}, "its results are not known to be equal"),
        ({"criteria": "[]"}, "it has no criterion results_equal that passed"),
        ({"criteria": criteria(objective__cpu=True)}, "it has no criterion results_equal that passed"),
        ({"criteria": criteria(results_equal=True)}, "it has no criterion of the objective that passed"),
        ({"criteria": criteria(results_equal=False, objective__cpu=True)}, "its criterion results_equal did not pass"),
        ({"criteria": criteria(results_equal=None, objective__cpu=True)}, "its criterion results_equal did not pass"),
        (
            {"criteria": criteria(results_equal=True, wall_ns=False, objective__cpu=True)},
            "its criterion wall_ns did not pass",
        ),
        (
            {"criteria": criteria(results_equal=True, work_ns=False, objective__cpu=True)},
            "its criterion work_ns did not pass",
        ),
        (
            {"criteria": criteria(results_equal=True, pairs_agree=None, objective__cpu=True)},
            "its criterion pairs_agree did not pass",
        ),
        (
            {"criteria": criteria(results_equal=True, objective__cpu=None)},
            "its criterion objective:cpu did not pass",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("by_hand", [False, True])
def test_a_verdict_whose_criteria_do_not_prove_it_is_refused(changes: Row, doubt: str, by_hand: bool) -> None:
    error = refused((), asked(stored=(verdict_of(A, **changes),), by_hand=by_hand))
    assert error.facts() == {
        "code": "PLN-401",
        "where": "query q",
        "what": f"verdict ver-1-q-{A.id[4:]} is no proof: {doubt}",
        "fix": "only a verdict `accept` whose criteria all passed, equal results among them, can be promoted",
    }


def test_work_that_does_not_fall_is_no_doubt_where_the_clocks_show_a_gain() -> None:
    shown = criteria(results_equal=True, work_ns=None, wall_ns=True, objective__cpu=True)
    assert next_generation("demo", "q", (), asked(stored=(verdict_of(A, criteria=shown),))).policy == A


@pytest.mark.parametrize("by_hand", [False, True])
@pytest.mark.parametrize(
    ("policy", "limits", "why"),
    [
        (Policy.of({"spark.sql.ansi.enabled": "false"}), Knobs(), "spark.sql.ansi.enabled may change results"),
        (Policy.of({"spark.sql.any": "1"}), Knobs(), "spark.sql.any is not in the knob catalogue"),
        (Policy.of(rewrites=["drop_where"]), Knobs(), "'drop_where' is not a known rewrite"),
        (
            A,
            Knobs(deny=("spark.sql.shuffle.partitions",)),
            "spark.sql.shuffle.partitions is denied in the workload file",
        ),
    ],
    ids=["changes results", "outside the catalogue", "unknown rewrite", "denied"],
)
def test_an_accepted_verdict_does_not_lift_the_veto(policy: Policy, limits: Knobs, why: str, by_hand: bool) -> None:
    error = refused((), replace(accept(policy), limits=limits, by_hand=by_hand))
    assert isinstance(error, PromotionRefused)
    assert error.what.endswith(f" is vetoed: {why}")


@pytest.mark.parametrize("newer", ["accept", "reject", "inconclusive"])
def test_a_verdict_with_a_newer_one_of_the_same_candidate_is_stale(newer: str) -> None:
    error = refused((), asked(stored=(verdict_of(A), verdict_of(A, 2, outcome=newer))))
    assert isinstance(error, VerdictStale)
    assert "superseded by the newer ver-2-q-" in error.what


def test_a_newer_verdict_of_another_candidate_does_not_matter() -> None:
    stored = (verdict_of(A), verdict_of(B, 2, outcome="reject"))
    assert next_generation("demo", "q", (), asked(stored=stored)).policy == A


@pytest.mark.parametrize("inputs", ["inp_2", None], ids=["other inputs", "inputs nobody knows"])
def test_a_verdict_on_other_inputs_is_stale(inputs: str | None) -> None:
    error = refused((), asked(inputs=inputs))
    assert isinstance(error, VerdictStale)
    assert error.what == f"verdict ver-1-q-{A.id[4:]} was given on other inputs"


def test_a_verdict_that_a_decision_on_the_current_inputs_relies_on_is_not_stale() -> None:
    event = asked(inputs="inp_2", carried=frozenset({verdict_of(A).id}))
    assert next_generation("demo", "q", (), event).policy == A


@pytest.mark.parametrize("by_hand", [False, True], ids=["automation", "a person"])
def test_a_policy_that_watch_reverted_is_not_promoted_again_by_the_same_verdict(by_hand: bool) -> None:
    error = refused(chain_of(accept(A), REGRESSED), accept(A, by_hand=by_hand))
    assert isinstance(error, VerdictSpent)


def test_nor_by_one_that_was_known_when_it_was_reverted() -> None:
    known = replace(REGRESSED, evidence=(verdict_of(A, 2).id,))
    assert isinstance(refused(chain_of(accept(A), known), accept(A, 2)), VerdictSpent)


def test_nor_by_an_older_one_that_had_put_it_in_force() -> None:
    chain = chain_of(accept(A), accept(B), accept(A, 2), REGRESSED)
    assert isinstance(refused(chain, accept(A, 1)), VerdictSpent)


@pytest.mark.parametrize("end", [ROLLED_BACK, EXPIRED], ids=["rolled back", "expired"])
def test_automation_does_not_promote_again_what_a_person_took_back_or_what_expired(end: Event) -> None:
    assert isinstance(refused(chain_of(accept(A), end), accept(A)), VerdictSpent)


def test_automation_does_not_promote_what_a_person_passed_over_on_the_way_to_original() -> None:
    chain = chain_of(accept(A), fix(B), ROLLED_BACK_FAR)
    assert isinstance(refused(chain, accept(A)), VerdictSpent)
    assert next_generation("demo", "q", chain, accept(A, by_hand=True)).policy == A


def test_a_pin_taken_back_takes_the_verdict_of_its_policy_with_it() -> None:
    assert isinstance(refused(chain_of(accept(A), fix(A), ROLLED_BACK), accept(A)), VerdictSpent)


NOTHING: dict[str, tuple[tuple[Event, ...], Event]] = {
    "accept what is in force": ((accept(A),), accept(A, 2)),
    "accept what was restored": ((accept(A), accept(B), REGRESSED), accept(A, 2)),
    "pin what is pinned": ((fix(A),), fix(A)),
    "unpin what was never pinned": ((accept(A),), UNFIX),
    "unpin nothing": ((), UNFIX),
    "revert nothing": ((), REGRESSED),
    "revert original": ((accept(A), REGRESSED), REGRESSED),
    "roll back nothing": ((), ROLLED_BACK),
    "roll back to original what is original": ((accept(A), EXPIRED), ROLLED_BACK_FAR),
    "expire nothing": ((), EXPIRED),
    "expire twice": ((accept(A), EXPIRED), EXPIRED),
}


@pytest.mark.parametrize(("events", "event"), NOTHING.values(), ids=NOTHING)
def test_what_would_change_nothing_is_refused(events: tuple[Event, ...], event: Event) -> None:
    assert isinstance(refused(chain_of(*events), event), NothingToChange)


# What no longer stands


def test_watch_ends_the_proof_of_the_policy_in_force_and_of_no_other() -> None:
    chain = chain_of(accept(A), ROLLED_BACK, accept(B), REGRESSED)
    assert {verdict: by.generation for verdict, by in taken_back(chain).items()} == {verdict_of(B).id: 4}


def test_an_expiry_ends_all_that_was_proven_before_it_and_nothing_after() -> None:
    chain = chain_of(accept(A), accept(B), EXPIRED, accept(A, 2))
    assert {verdict: by.generation for verdict, by in taken_back(chain).items()} == {
        verdict_of(A).id: 3,
        verdict_of(B).id: 3,
    }
