"""An accepted policy is confirmed on a later day, in at most two steps, or it is taken back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from planopt_assets.model.stamp import Stamp
from planopt_assets.model.verdict import Verdict
from planopt_assets.promote.confirmation import LATER_S, Confirmation, confirmation, cost_s
from planopt_tests.promote.events import EXPIRED, REGRESSED, A, B, accept, chain_of, fix, verdict_of

pytestmark = pytest.mark.fast

NIGHT = datetime(2026, 1, 1, 2, tzinfo=UTC)
PROOF = verdict_of(A)


def later(outcome: str, hours: float = 24, number: int = 2, **changes: Any) -> Verdict:
    given = verdict_of(A, number, **{"outcome": outcome, "purpose": "confirm", "reason": "why", **changes})
    return replace(given, stamp=Stamp("later", NIGHT + timedelta(hours=hours)))


def found(*verdicts: Verdict) -> Confirmation:
    promoted = replace(chain_of(accept(A))[-1], stamp=Stamp("run", NIGHT))
    answer = confirmation(promoted, (PROOF, *verdicts))
    assert answer is not None
    return answer


def seconds(hours: float) -> int:
    return int((NIGHT + timedelta(hours=hours)).timestamp())


def test_a_policy_is_due_to_be_confirmed_on_the_next_night_and_not_in_the_same_one() -> None:
    assert (found().state, found().reason) == ("open", "to be confirmed, step 1 of 2")
    assert not found().due(seconds(11.9))
    assert found().due(seconds(12))
    assert seconds(12) - seconds(0) == LATER_S


def test_a_gain_that_shows_again_confirms_it() -> None:
    answer = found(later("accept"))
    assert (answer.state, answer.due(seconds(999))) == ("confirmed", False)
    assert answer.evidence == (later("accept").id,)


def test_an_accept_that_proves_nothing_confirms_nothing() -> None:
    assert found(later("accept", criteria="[]")).state == "open"


def test_a_rejection_takes_it_back_whatever_the_trial_was_for() -> None:
    for purpose in ("confirm", "try", None):
        answer = found(later("reject", purpose=purpose))
        assert (answer.state, answer.reason) == ("failed", "a later trial rejected it: why")


def test_without_a_clear_answer_there_is_a_second_step_on_another_day_and_no_third() -> None:
    unclear = [later("inconclusive", hours, number) for number, hours in ((2, 24), (3, 48))]
    once, twice = found(unclear[0]), found(*unclear)
    assert (once.reason, once.due(seconds(35)), once.due(seconds(36))) == ("to be confirmed, step 2 of 2", False, True)
    assert (twice.state, twice.reason) == ("failed", "not confirmed in 2 trials on later days: why")
    assert twice.evidence == tuple(v.id for v in unclear)


def test_an_unclear_trial_among_other_candidates_is_no_step() -> None:
    assert found(later("inconclusive", purpose="try"), later("inconclusive", number=3, purpose="try")).state == "open"


def test_the_newest_clear_answer_counts() -> None:
    assert found(later("accept"), later("reject", number=3)).state == "failed"
    assert found(later("reject"), later("accept", number=3)).state == "confirmed"
    assert found(later("accept"), later("inconclusive", number=3), later("inconclusive", number=4)).state == "confirmed"


def test_what_was_said_before_the_proof_or_about_another_policy_does_not_count() -> None:
    promoted = replace(chain_of(accept(A))[-1], stamp=Stamp("run", NIGHT))
    before, other = later("reject"), verdict_of(B, 3, outcome="reject")
    answer = confirmation(promoted, (before, PROOF, other))
    assert answer is not None
    assert answer.state == "open"


@pytest.mark.parametrize(
    "chain",
    [chain_of(fix(A)), chain_of(accept(A), REGRESSED), chain_of(accept(A), EXPIRED)],
    ids=["pin", "g0", "g0 again"],
)
def test_there_is_nothing_to_confirm_for_a_pin_and_for_original(chain: Any) -> None:
    assert confirmation(chain[-1], (PROOF,)) is None


def test_a_policy_that_is_in_force_again_was_confirmed_before() -> None:
    chain = chain_of(accept(A), accept(B), REGRESSED)
    answer = confirmation(chain[-1], (PROOF, later("accept"), verdict_of(B)))
    assert answer is not None
    assert answer.state == "confirmed"


def test_a_step_costs_eight_executions_by_the_clocks_of_the_proof() -> None:
    criteria = '[{"name": "wall_ns", "passed": true, "baseline": 1.5e9, "candidate": 1e9, "threshold": ""}]'
    assert cost_s(verdict_of(A, criteria=criteria)) == 12.0
    assert cost_s(PROOF) is None
    assert cost_s(None) is None
