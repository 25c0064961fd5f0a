"""A trial that is disturbed from outside is stored, not counted, and repeated; what it returned is compared."""

from __future__ import annotations

import pytest

from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.validate.judge_rules import Rules
from planopt_tests.loop.fake_workspace import (
    FEWER,
    HALF,
    HALF_THE_WORK,
    WRONG,
    Behaviour,
    FakeWorkspace,
    Ran,
    costs,
    experiment,
    working,
)

pytestmark = pytest.mark.fast

FEW = Rules().confirm_pairs  # where counters show it, and for a candidate that has no chance


def disturbing(who: Policy, times: int) -> Behaviour:
    """The second run of a policy, which is the first that counts, and some after it are disturbed and take for ever."""

    def run(policy: Policy, before: int, binding: int) -> Ran:
        if policy is who and 1 <= before <= times:
            return Ran(9.0, disturbed="2 tasks failed")
        return Ran(HALF[policy], counted=HALF_THE_WORK if policy is FEWER else None)

    return run


@pytest.mark.parametrize("who", [ORIGINAL, FEWER], ids=["original", "candidate"])
def test_a_disturbed_trial_is_tainted_and_repeated(who: Policy) -> None:
    outcome = experiment(FakeWorkspace(disturbing(who, 2)), FEWER)
    tainted = [t for t in outcome.trials if t.status == "tainted"]
    assert [(t.policy_id, t.round, t.error) for t in tainted] == [(who.id, 1, "2 tasks failed")] * 2
    assert (outcome.verdict.outcome, outcome.verdict.pairs) == ("accept", FEW)
    assert outcome.verdict.gain.ratio == pytest.approx(0.5)  # the 9 s are in no pair
    assert outcome.judged[0].executions == 8 + 2


def test_a_candidate_that_is_always_disturbed_is_inconclusive() -> None:
    outcome = experiment(FakeWorkspace(disturbing(FEWER, 99)), FEWER)
    assert outcome.verdict.outcome == "inconclusive"
    assert outcome.verdict.reason == "the candidate was disturbed 3 times in a row: 2 tasks failed"


def test_a_baseline_that_is_always_disturbed_settles_nothing() -> None:
    outcome = experiment(FakeWorkspace(disturbing(ORIGINAL, 99)), FEWER)
    assert outcome.verdict.reason == "the baseline was disturbed 3 times in a row: 2 tasks failed"


def test_a_disturbed_warm_up_is_not_repeated() -> None:
    def behaviour(policy: Policy, before: int, binding: int) -> Ran:
        return Ran(HALF[policy], counted=HALF_THE_WORK if policy is FEWER else None, disturbed="" if before else "lost")

    outcome = experiment(FakeWorkspace(behaviour), FEWER)
    assert (outcome.verdict.outcome, len(outcome.trials)) == ("accept", 8)


def test_a_wrong_result_is_wrong_also_in_a_disturbed_trial() -> None:
    def behaviour(policy: Policy, before: int, binding: int) -> Ran:
        if policy is FEWER and before == 1:
            return Ran(1.5, WRONG, disturbed="1 task failed")
        return Ran(HALF[policy], counted=HALF_THE_WORK if policy is FEWER else None)

    verdict = experiment(FakeWorkspace(behaviour), FEWER).verdict
    assert (verdict.outcome, verdict.results_equal) == ("reject", False)


# Looks at the tables: one before and one after each round, so 3 and 4 are those around the first counted round


def test_a_commit_to_a_table_taints_the_round_and_another_is_run() -> None:
    workspace = FakeWorkspace(working(HALF, {FEWER: HALF_THE_WORK}), commits=[4])
    outcome = experiment(workspace, FEWER)
    tainted = [t for t in outcome.trials if t.status == "tainted"]
    assert {(t.round, t.error) for t in tainted} == {(1, "table sales was committed to")}
    assert {t.policy_id for t in tainted} == {ORIGINAL.id, FEWER.id}
    assert (outcome.verdict.outcome, outcome.verdict.pairs, len(outcome.trials)) == ("accept", FEW, 10)


def test_a_commit_between_two_rounds_or_in_the_warm_up_disturbs_nothing() -> None:
    workspace = FakeWorkspace(working(HALF, {FEWER: HALF_THE_WORK}), commits=[2, 5])
    outcome = experiment(workspace, FEWER)
    assert ([t for t in outcome.trials if t.status != "ok"], len(outcome.trials)) == ([], 8)


def test_a_table_that_is_committed_to_all_the_time_ends_inconclusive() -> None:
    outcome = experiment(FakeWorkspace(costs(HALF), commits=range(3, 99)), FEWER)
    assert outcome.verdict.outcome == "inconclusive"
    assert outcome.verdict.reason == "disturbed in 3 rounds in a row: table sales was committed to"
