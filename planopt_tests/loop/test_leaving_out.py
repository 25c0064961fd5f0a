"""A confirmed combination is tried without each of its proposals: a part that harms does not ride along."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from planopt_assets.loop.decisions import history_of
from planopt_assets.loop.stages.validate import _after, _asked
from planopt_assets.loop.standing import Standing
from planopt_assets.loop.steps import step
from planopt_assets.promote.confirmation import Confirmation, confirmation
from planopt_tests.loop.fake_workspace import HALF_THE_WORK, FakeWorkspace, experiment, working
from planopt_tests.promote.events import accept, chain_of
from planopt_tests.rows import FEWER, OTHER, artifact, candidate, decision, standing, verdict

pytestmark = pytest.mark.fast

BOTH = FEWER.merged(OTHER)
CONFIRMED = Confirmation("confirmed", "confirmed by ver-2")
EARLY, LATE = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
PROOF = verdict(BOTH, recorded_at=EARLY)


def in_force(**others: Any) -> Standing:
    known: dict[str, Any] = {
        "decisions": [decision("no_change")],
        "chain": chain_of(accept(BOTH)),
        "promoted_by": PROOF,
        "past_verdicts": [PROOF],
        "confirmation": CONFIRMED,
        "in_force_as": candidate(BOTH),
        "without_a_part": (OTHER, FEWER),
    }
    return standing(**{**known, **others})


def test_a_confirmed_combination_is_planned_without_each_of_its_proposals() -> None:
    found = in_force()
    assert found.unplanned == (OTHER, FEWER)
    one = step(found, "replan")
    assert (one.need, one.why) == ("needed", "the policy in force without one part: 2 policies")


def test_then_each_is_tried_against_the_policy_in_force_and_not_against_original() -> None:
    planned = [candidate(OTHER), candidate(FEWER)]
    found = in_force(candidates=planned)
    assert (found.unplanned, found.unjudged) == ((), [])
    assert _asked(found) == [(planned, "leave_out")]
    assert step(found, "validate").why == (
        "the policy in force is tried without one of its parts, 2 times (about 16 executions)"
    )


TRIED = [verdict(p, "reject", purpose="leave_out", verdict_id=f"ver-{p.id}", recorded_at=LATE) for p in (FEWER, OTHER)]


@pytest.mark.parametrize(
    "found",
    [
        in_force(without_a_part=()),
        in_force(confirmation=Confirmation("open", "to be confirmed", due_at=9)),
        in_force(past_verdicts=[PROOF, *TRIED], candidates=[candidate(OTHER), candidate(FEWER)], verdicts=TRIED),
        in_force(candidates=[candidate(OTHER, kept=False), candidate(FEWER, kept=False)]),
        in_force(mode="observe"),
        in_force(promoted_by=verdict(BOTH, gain_metric=None)),
    ],
    ids=["no combination, or not worth it", "not confirmed", "tried", "the plan stays", "only looks", "gain unknown"],
)
def test_otherwise_nothing_is_left_out(found: Standing) -> None:
    assert found.unplanned == ()
    assert _asked(found) == []
    assert found.settled


def test_what_was_left_out_before_the_combination_was_accepted_again_is_tried_again() -> None:
    again = verdict(BOTH, verdict_id="ver-again", recorded_at=datetime(2026, 2, 1, tzinfo=UTC))
    assert in_force(promoted_by=again, past_verdicts=[PROOF, *TRIED, again]).to_leave_out == (OTHER, FEWER)


def test_a_harmful_part_is_found_against_the_policy_in_force() -> None:
    seconds = {BOTH: 2.0, FEWER: 1.5}
    workspace = FakeWorkspace(working(seconds, {FEWER: HALF_THE_WORK}), warm=True)
    outcome = experiment(workspace, FEWER, baseline=workspace.arm(BOTH))
    assert (outcome.verdict.outcome, outcome.judged[0].error_spent > 0) == ("accept", True)
    assert outcome.verdict.gain.ratio == pytest.approx(0.75)
    assert {t.policy_id for t in outcome.trials} == {BOTH.id, FEWER.id}
    assert outcome.trials[0].policy_id == BOTH.id  # the session has run original, not the policy in force
    assert outcome.trials[0].warm_up


def test_its_gain_is_told_against_original_so_that_it_goes_before_the_combination() -> None:
    found = verdict(FEWER, gain_ratio=0.75, gain_low=0.7, gain_high=0.8)
    told = _after(found.judgement, PROOF.gain, "against the policy in force")
    assert told.gain is not None
    assert (told.gain.ratio, told.gain.high) == pytest.approx((0.7 * 0.75, 0.8 * 0.8))
    assert told.reason.startswith("against the policy in force: ")
    better = verdict(FEWER, gain_high=told.gain.high, purpose="leave_out")
    assert in_force(verdicts=[better], carried=[PROOF]).to_promote == better


def test_a_part_that_could_not_be_left_out_may_be_tried_by_itself_later() -> None:
    seen = artifact(recorded_at=datetime(2026, 3, 1, tzinfo=UTC))
    kept = verdict(OTHER, purpose="leave_out", recorded_at=LATE)
    history = history_of(standing(artifacts=[seen], past_verdicts=[TRIED[0], kept]))
    assert [v.verdict for v in history.verdicts] == [kept]


def test_a_trial_against_the_policy_in_force_confirms_and_takes_back_nothing() -> None:
    chain = chain_of(accept(FEWER))
    proof = verdict(FEWER, verdict_id=chain[-1].verdict_id)
    found = confirmation(chain[-1], [proof, TRIED[0]])
    assert found is not None
    assert found.state == "open"
