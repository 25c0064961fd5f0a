"""No flapping: a policy that automation took back twice waits for a person, or for other inputs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planopt_assets.decide.history import PastVerdicts, recall
from planopt_assets.errors import VerdictSpent
from planopt_assets.model.conditions import Circumstances, Conditions, TableState
from planopt_assets.model.past_verdict import PastVerdict, TakenBack
from planopt_assets.model.promotion import Chain
from planopt_assets.model.verdict import Verdict
from planopt_assets.promote.transitions import Accept, Revert, next_generation
from planopt_assets.promote.twice_taken_back import times_taken_back, waiting
from planopt_tests.promote.events import EXPIRED, REGRESSED, ROLLED_BACK, A, B, accept, chain_of, verdict_of

pytestmark = pytest.mark.fast

GIB = 1 << 30
SAME = {"canonical_fingerprint": "cql_1", "context_hash": "ctx_1"}


def given(number: int, input_bytes: int | None = GIB, context: str = "ctx_1") -> Verdict:
    told = {**SAME, "context_hash": context, "input_bytes": input_bytes, "input_fingerprint": f"inp_{number}"}
    tables = (TableState("sales", "id-1", input_bytes),)
    sized = Conditions(Circumstances(tables=tables)) if input_bytes is not None else None
    return replace(verdict_of(A, number, **told), conditions=sized)


def lived(*verdicts: Verdict) -> Chain:
    """Each verdict promoted, and its policy taken back by watch."""
    chain: Chain = ()
    for verdict in verdicts:
        event = Accept(verdict.id, verdict.candidate_id, verdict.input_fingerprint, (verdict,))
        chain = (*chain, next_generation("demo", "q", chain, event))
        chain = (*chain, next_generation("demo", "q", chain, REGRESSED))
    return chain


ONE, TWO, THREE = given(1), given(2), given(3)


def promoted(verdict: Verdict, chain: Chain, *stored: Verdict, by_hand: bool = False) -> bool:
    event = Accept(verdict.id, verdict.candidate_id, verdict.input_fingerprint, (*stored, verdict), by_hand=by_hand)
    return next_generation("demo", "q", chain, event).policy == A


def test_taken_back_once_a_new_verdict_may_promote_it_again() -> None:
    assert promoted(TWO, lived(ONE), ONE)


def test_taken_back_twice_it_waits() -> None:
    with pytest.raises(VerdictSpent, match="was taken back twice on inputs like these") as refused:
        promoted(THREE, lived(ONE, TWO), ONE, TWO)
    assert "planopt promote q" in str(refused.value)
    assert waiting(lived(ONE, TWO), (ONE, TWO, THREE)) == {ONE.id, TWO.id, THREE.id}


def test_a_person_may_promote_it() -> None:
    assert promoted(THREE, lived(ONE, TWO), ONE, TWO, by_hand=True)


@pytest.mark.parametrize(
    ("verdict", "waits"),
    [
        (given(3, 2 * GIB), True),
        (given(3, 3 * GIB), False),
        (given(3, None), True),
        (given(3, GIB, "ctx_2"), False),
    ],
    ids=["tables twice as large", "tables three times as large", "size unknown", "another engine"],
)
def test_other_inputs_are_another_chance(verdict: Verdict, waits: bool) -> None:
    assert (verdict.id in waiting(lived(ONE, TWO), (ONE, TWO, verdict))) == waits
    if not waits:
        assert promoted(verdict, lived(ONE, TWO), ONE, TWO)


@pytest.mark.parametrize(
    ("chain", "times"),
    [
        (chain_of(accept(A), REGRESSED, accept(A, 2), REGRESSED), 2),
        (chain_of(accept(A), EXPIRED, accept(A, 2), REGRESSED), 1),
        (chain_of(accept(A), ROLLED_BACK, accept(A, 2), ROLLED_BACK), 0),
        (chain_of(accept(A), accept(B), REGRESSED, Revert("original", "worse")), 1),
    ],
    ids=["by watch", "expired once", "by a person", "another policy in between"],
)
def test_only_what_automation_took_back_counts(chain: Chain, times: int) -> None:
    assert times_taken_back(chain, A) == times


@pytest.mark.parametrize(("times", "tried_again"), [(1, True), (2, False)])
def test_it_is_not_even_tried_again_however_long_ago_that_was(times: int, tried_again: bool) -> None:
    by = TakenBack("reverted", "pro-q-g4", "it got worse", at=0, times=times)
    grown = 3 * GIB // 2  # new evidence, on similar inputs
    history = PastVerdicts("cql_1", "ctx_1", grown, (PastVerdict(ONE, 0, by),), {"sales": grown})
    assert (recall(A, history, now=400 * 86_400) is None) == tried_again
    assert recall(A, history, now=86_400) is not None
