"""A run of an arm that fails, is out of time or out of budget: who is blamed, and who goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planopt_assets.errors import PlanoptError, QueryFailed, QueryTimedOut
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Budgets
from planopt_assets.validate.judge_rules import Rules
from planopt_tests.loop.fake_workspace import (
    FEWER,
    HALF,
    HALF_THE_WORK,
    OTHER,
    RIGHT,
    FakeWorkspace,
    Ran,
    costs,
    experiment,
    timeouts,
)

pytestmark = pytest.mark.fast

LAST_DIGITS = replace(RIGHT, bits="other")
PAIRS = Rules().min_pairs  # for the clocks alone
FEW = Rules().confirm_pairs  # where counters show it, and for a candidate that has no chance


# Failures


def failing(who: Policy, error: PlanoptError) -> FakeWorkspace:
    """A workspace in which one arm fails in the second counted round."""

    def behaviour(policy: Policy, before: int, binding: int) -> Ran | PlanoptError:
        return error if policy is who and before == 2 else Ran({**HALF, OTHER: 1.0}[policy])

    return FakeWorkspace(behaviour)


FAILED = QueryFailed("no space left", where="q", fix="make some")
TIMED_OUT = QueryTimedOut("stopped after 10 s", where="q", fix="give it more time")


def test_a_candidate_that_fails_is_rejected_in_the_words_of_the_error() -> None:
    outcome = experiment(failing(FEWER, FAILED), FEWER)
    assert (outcome.verdict.outcome, outcome.verdict.results_equal) == ("reject", None)
    assert outcome.verdict.reason == "the candidate failed: PLN-207 q: no space left. Fix: make some"
    assert [(t.policy_id, t.error) for t in outcome.trials if t.status == "failed"] == [(FEWER.id, str(FAILED))]


def test_a_candidate_that_runs_out_of_time_is_rejected() -> None:
    outcome = experiment(failing(FEWER, TIMED_OUT), FEWER)
    assert (outcome.verdict.outcome, outcome.verdict.reason) == ("reject", "the candidate ran out of time")
    assert [(t.policy_id, t.counters) for t in outcome.trials if t.status == "timed_out"] == [(FEWER.id, None)]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (FAILED, "the baseline failed: PLN-207 q: no space left. Fix: make some"),
        (TIMED_OUT, "the baseline ran out of time"),
    ],
    ids=["fails", "timeout"],
)
def test_a_query_that_does_not_run_as_it_is_makes_every_candidate_inconclusive(error: PlanoptError, words: str) -> None:
    outcome = experiment(failing(ORIGINAL, error), FEWER, OTHER)
    assert [(j.judgement.outcome, j.judgement.reason) for j in outcome.judged] == [("inconclusive", words)] * 2


def test_one_candidate_that_fails_does_not_stop_the_others() -> None:
    outcome = experiment(failing(FEWER, FAILED), FEWER, OTHER)
    assert [j.judgement.outcome for j in outcome.judged] == ["reject", "accept"]


def test_a_binding_after_one_that_failed_is_not_run() -> None:
    def behaviour(policy: Policy, before: int, binding: int) -> Ran | PlanoptError:
        return FAILED if policy is FEWER else Ran(3.0)

    trials = experiment(FakeWorkspace(behaviour), FEWER, bindings=2).trials
    assert [t.binding for t in trials if t.policy_id == FEWER.id] == [0]


# Budgets: a round takes 4.5 s, 3 of the baseline and 1.5 of the candidate


def test_a_candidate_whose_budget_is_spent_is_inconclusive() -> None:
    outcome = experiment(FakeWorkspace(costs(HALF), budgets=Budgets(per_candidate=6.0)), FEWER)
    assert outcome.verdict.outcome == "inconclusive"
    assert outcome.verdict.reason == (
        "stopped by budget: only 3 of the 6 pairs that clocks alone need were run: cpu -50% (-50% to -50%)"
    )


def test_the_time_of_the_baseline_is_not_charged_to_the_candidate() -> None:
    outcome = experiment(FakeWorkspace(costs(HALF), budgets=Budgets(per_candidate=10.5)), FEWER)
    assert outcome.verdict.outcome == "accept"  # 7 runs of 1.5 s


def test_one_candidate_whose_budget_is_spent_does_not_stop_the_others() -> None:
    seconds = {ORIGINAL: 6.0, FEWER: 3.0, OTHER: 1.0}
    outcome = experiment(FakeWorkspace(costs(seconds), budgets=Budgets(per_candidate=9.0)), FEWER, OTHER)
    assert [j.judgement.outcome for j in outcome.judged] == ["inconclusive", "accept"]


def test_a_query_whose_budget_is_spent_is_inconclusive() -> None:
    outcome = experiment(FakeWorkspace(costs(HALF), budgets=Budgets(per_query=13.5)), FEWER)
    assert outcome.verdict.outcome == "inconclusive"
    assert outcome.verdict.reason == "stopped by budget: only 2 of the 3 pairs needed were run"
    assert outcome.workspace.now == 100.0 + 13.5


def test_a_run_whose_budget_is_spent_ends_the_experiment_too() -> None:
    outcome = experiment(FakeWorkspace(costs(HALF)), FEWER, run_deadline=100.0 + 9.0)
    assert outcome.verdict.reason == "stopped by budget: only 1 of the 3 pairs needed were run"


@pytest.mark.parametrize(("per_query", "cut"), [(11.0, ORIGINAL), (13.0, FEWER)], ids=["original", "candidate"])
def test_a_budget_that_ends_in_the_middle_of_an_execution_is_nobodys_fault(per_query: float, cut: Policy) -> None:
    outcome = experiment(FakeWorkspace(costs(HALF), budgets=Budgets(per_query=per_query)), FEWER)
    assert (outcome.trials[-1].status, outcome.trials[-1].policy_id) == ("timed_out", cut.id)
    assert outcome.verdict.outcome == "inconclusive"
    assert outcome.verdict.reason.startswith("stopped by budget")


def test_what_is_proven_when_the_budget_ends_is_accepted() -> None:
    outcome = experiment(FakeWorkspace(costs(HALF), budgets=Budgets(per_query=7 * 4.5)), FEWER)
    assert (outcome.verdict.outcome, outcome.workspace.now) == ("accept", 100.0 + 31.5)


# Time-outs


def test_a_candidate_gets_twice_the_slowest_run_of_the_query_as_it_is() -> None:
    def behaviour(policy: Policy, before: int, binding: int) -> Ran:
        return Ran(20.0 if policy is FEWER else 50.0 if before == 0 else 40.0)

    assert set(timeouts(experiment(FakeWorkspace(behaviour), FEWER), FEWER)[1:]) == {100.0}


def test_a_candidate_of_a_short_query_gets_ten_seconds() -> None:
    assert set(timeouts(experiment(FakeWorkspace(costs(HALF)), FEWER), FEWER)[1:]) == {10.0}


def test_a_candidate_that_hangs_is_stopped_and_rejected() -> None:
    def behaviour(policy: Policy, before: int, binding: int) -> Ran:
        return Ran(1_000_000.0 if policy is FEWER else 3.0)

    outcome = experiment(FakeWorkspace(behaviour), FEWER)
    assert (outcome.verdict.outcome, outcome.verdict.reason) == ("reject", "the candidate ran out of time")


def slowed_down(baseline_s: float) -> FakeWorkspace:
    """The first run of the candidate is ended; from then on the baseline takes as long as the test says."""

    def behaviour(policy: Policy, before: int, binding: int) -> Ran:
        if policy is FEWER:
            return Ran(3.0 if before else 1_000.0, counted=HALF_THE_WORK)
        return Ran(baseline_s)

    return FakeWorkspace(behaviour, warm=True)


def test_a_candidate_that_is_ended_while_the_machine_is_busy_is_tried_again_within_a_new_limit() -> None:
    outcome = experiment(slowed_down(12.0), FEWER, observed_wall_s=(6.0,))
    disturbed = [t for t in outcome.trials if t.status == "tainted"]
    assert [(t.policy_id, t.error) for t in disturbed] == [
        (FEWER.id, "ran out of time on a busy machine: the baseline took 6.0 s before and 12.0 s now")
    ]
    assert timeouts(outcome, FEWER)[:2] == [12.0, 24.0]
    assert outcome.verdict.outcome == "accept"


def test_a_candidate_that_is_ended_while_the_baseline_is_as_fast_as_ever_is_rejected() -> None:
    outcome = experiment(slowed_down(6.0), FEWER, observed_wall_s=(6.0,))
    assert (outcome.verdict.outcome, outcome.verdict.reason) == ("reject", "the candidate ran out of time")
    assert not [t for t in outcome.trials if t.status == "tainted"]


def test_a_candidate_that_is_ended_whenever_the_machine_is_busy_is_not_judged() -> None:
    """It is ended three times, and each time the baseline has become slower still."""

    def behaviour(policy: Policy, before: int, binding: int) -> Ran:
        return Ran(1_000_000.0 if policy is FEWER else 6.0 * 2**before)

    outcome = experiment(FakeWorkspace(behaviour, warm=True), FEWER, observed_wall_s=(3.0,))
    assert outcome.verdict.outcome == "inconclusive"
    assert outcome.verdict.reason.startswith("the candidate ran out of time on a busy machine: the baseline took 12.0")


def test_the_query_as_it_is_gets_what_the_budget_leaves() -> None:
    outcome = experiment(FakeWorkspace(costs(HALF), budgets=Budgets(per_query=300.0)), FEWER)
    given = timeouts(outcome, ORIGINAL)
    assert given[0] in (300.0, 298.5)  # the candidate may have gone first
    assert given == sorted(given, reverse=True)
