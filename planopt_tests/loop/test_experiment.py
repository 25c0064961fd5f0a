"""One experiment: interleaved rounds against the baseline, until all is settled or the budget is gone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planopt_assets.errors import PlanoptError, QueryFailed, QueryTimedOut
from planopt_assets.loop import experiment as experiment_module
from planopt_assets.loop.experiment import VARIES
from planopt_assets.model.arm import Arm
from planopt_assets.model.inputs import PinnedTable
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Budgets, Query
from planopt_assets.validate.judge_rules import Rules
from planopt_assets.validate.round_order import round_order
from planopt_tests.loop.fake_workspace import (
    FEWER,
    HALF,
    HALF_THE_WORK,
    OTHER,
    RIGHT,
    WRONG,
    FakeWorkspace,
    Outcome,
    Ran,
    costs,
    experiment,
    timeouts,
)
from planopt_tests.measured import counters

pytestmark = pytest.mark.fast

LAST_DIGITS = replace(RIGHT, bits="other")
PAIRS = Rules().min_pairs  # for the clocks alone
FEW = Rules().confirm_pairs  # where counters show it, and for a candidate that has no chance


def rounds_of(outcome: Outcome) -> dict[int, list[Policy]]:
    """The arms of every round in the order they ran, control runs left out."""
    policies = {p.id: p for p in (ORIGINAL, FEWER, OTHER)}
    found: dict[int, list[Policy]] = {}
    for trial in outcome.trials:
        if "-control" not in trial.id:
            found.setdefault(trial.round, []).append(policies[trial.policy_id])
    return found


# Verdicts


def test_a_candidate_that_costs_half_is_accepted() -> None:
    verdict = experiment(FakeWorkspace(costs(HALF)), FEWER).verdict
    assert (verdict.outcome, verdict.results_equal, verdict.pairs) == ("accept", True, PAIRS)
    assert verdict.gain.ratio == pytest.approx(0.5)


def test_a_candidate_that_costs_the_same_is_rejected() -> None:
    assert experiment(FakeWorkspace(costs({ORIGINAL: 3.0, FEWER: 3.0})), FEWER).verdict.outcome == "reject"


def test_a_candidate_that_noise_hides_ends_inconclusive_after_the_last_pair() -> None:
    def behaviour(policy: Policy, before: int, binding: int) -> Ran:
        return Ran(3.0 if policy is ORIGINAL else 3.0 * (0.55 if before % 2 else 0.95))

    rules = Rules(max_pairs=8, foresight_pairs=8)
    verdict = experiment(FakeWorkspace(behaviour), FEWER, rules=rules).verdict
    assert (verdict.outcome, verdict.pairs) == ("inconclusive", 8)
    assert verdict.reason.startswith("noise hides the gain")


def test_every_candidate_gets_its_own_verdict_on_its_own_trials_and_the_baselines() -> None:
    outcome = experiment(FakeWorkspace(costs({**HALF, OTHER: 6.0})), OTHER, FEWER)
    assert [(j.candidate.policy, j.judgement.outcome) for j in outcome.judged] == [(OTHER, "reject"), (FEWER, "accept")]
    by_id = {t.id: t.policy_id for t in outcome.trials}
    assert [{by_id[i] for i in j.trial_ids} for j in outcome.judged] == [
        {OTHER.id, ORIGINAL.id},
        {FEWER.id, ORIGINAL.id},
    ]


def test_bindings_are_one_query_and_are_judged_together() -> None:
    outcome = experiment(FakeWorkspace(costs(HALF)), FEWER, bindings=2)
    assert (outcome.verdict.outcome, outcome.verdict.pairs) == ("accept", PAIRS)
    names = [c.name for c in outcome.verdict.criteria]
    assert [n for n in names if n.startswith("binding_")] == ["binding_0_cpu_ns", "binding_1_cpu_ns"]


# Rounds


def test_all_have_a_first_run_then_one_after_the_other_meets_the_query_as_it_is() -> None:
    # OTHER is hopeless and settled with the first pairs that say so; then it is FEWER's turn.
    rounds = rounds_of(experiment(FakeWorkspace(costs({**HALF, OTHER: 3.3})), OTHER, FEWER))
    assert rounds[0] == [ORIGINAL, OTHER, FEWER]
    assert all(sorted(map(id, rounds[n])) == sorted(map(id, [ORIGINAL, OTHER])) for n in range(1, FEW + 1))
    assert all(sorted(map(id, rounds[n])) == sorted(map(id, [ORIGINAL, FEWER])) for n in range(FEW + 1, len(rounds)))


def test_a_query_this_session_has_observed_needs_no_warm_up_of_its_own() -> None:
    outcome = experiment(FakeWorkspace(costs(HALF), warm=True), FEWER)
    assert rounds_of(outcome)[0] == [FEWER]
    assert outcome.verdict.outcome == "accept"
    assert len(outcome.trials) == 1 + 2 * PAIRS


def test_the_order_of_every_round_is_the_scheduled_one_and_is_recorded() -> None:
    outcome = experiment(FakeWorkspace(costs(HALF)), FEWER)
    for number in {t.round for t in outcome.trials}:
        trials = [t for t in outcome.trials if t.round == number]
        arms = [ORIGINAL.id, FEWER.id]
        # The warm-up is not counted: the baseline goes first and pays for a cold JVM.
        assert [t.policy_id for t in trials] == (round_order(arms, 7, "q", number) if number else arms)
        assert [t.position for t in trials] == [0, 1]


def test_arms_are_interleaved_and_neither_always_goes_first() -> None:
    rounds = rounds_of(experiment(FakeWorkspace(costs(HALF)), FEWER))
    assert {arms[0] for arms in rounds.values()} == {ORIGINAL, FEWER}


def test_every_trial_has_an_id_of_its_own() -> None:
    ids = [t.id for t in experiment(FakeWorkspace(costs({**HALF, OTHER: 1.0})), FEWER, OTHER, bindings=2).trials]
    assert len(ids) == len(set(ids))


# Warm-up


def test_only_the_first_round_is_a_warm_up() -> None:
    trials = experiment(FakeWorkspace(costs(HALF)), FEWER).trials
    assert {t.round for t in trials if t.warm_up} == {0}
    assert {t.round for t in trials if not t.warm_up} == set(range(1, PAIRS + 1))


@pytest.mark.parametrize(("cold", "warm", "outcome", "pairs"), [(0.1, 3.0, "reject", FEW), (9.0, 1.5, "accept", PAIRS)])
def test_the_warm_up_is_never_counted(cold: float, warm: float, outcome: str, pairs: int) -> None:
    def behaviour(policy: Policy, before: int, binding: int) -> Ran:
        return Ran(3.0 if policy is ORIGINAL else warm if before else cold)

    verdict = experiment(FakeWorkspace(behaviour), FEWER).verdict
    assert (verdict.outcome, verdict.pairs) == (outcome, pairs)
    assert verdict.gain.ratio == pytest.approx(warm / 3.0)


# Results


def test_a_query_whose_own_result_varies_is_inconclusive() -> None:
    def behaviour(policy: Policy, before: int, binding: int) -> Ran:
        return Ran(HALF[policy], WRONG if policy is ORIGINAL and before == 3 else RIGHT)

    verdict = experiment(FakeWorkspace(behaviour), FEWER).verdict
    assert (verdict.outcome, verdict.reason, verdict.results_equal) == ("inconclusive", VARIES, None)


def test_a_digest_of_an_older_planopt_is_taken_anew_from_the_first_run_of_the_query_as_it_is() -> None:
    old = replace(RIGHT, exact="as it was", bits="as it was", form=1)
    outcome = experiment(FakeWorkspace(costs(HALF), warm=True), FEWER, observed=old)
    assert rounds_of(outcome)[0] == [ORIGINAL, FEWER]
    assert (outcome.verdict.outcome, outcome.verdict.results_equal) == ("accept", True)
    wrong = FakeWorkspace(lambda policy, before, binding: Ran(HALF[policy], WRONG if policy is FEWER else RIGHT))
    assert experiment(wrong, FEWER, observed=old).verdict.results_equal is False


def test_a_candidate_with_another_result_is_rejected_after_a_control_run_of_the_query_as_it_is() -> None:
    def behaviour(policy: Policy, before: int, binding: int) -> Ran:
        return Ran(HALF[policy], WRONG if policy is FEWER and before == 2 else RIGHT)

    outcome = experiment(FakeWorkspace(behaviour), FEWER)
    verdict, control = outcome.verdict, outcome.trials[-1]
    assert (verdict.outcome, verdict.results_equal) == ("reject", False)
    assert verdict.reason == "the result is not the same: same number of rows, different values"
    assert [(c.name, c.passed) for c in verdict.criteria] == [("results_equal", False)]
    assert (control.policy_id, control.round, control.digest) == (ORIGINAL.id, 2, RIGHT)
    assert "-control-" in control.id


def test_a_control_run_is_never_counted() -> None:
    def behaviour(policy: Policy, before: int, binding: int) -> Ran:
        return Ran({**HALF, OTHER: 1.5}[policy], WRONG if policy is OTHER and before == 1 else RIGHT)

    outcome = experiment(FakeWorkspace(behaviour), OTHER, FEWER)
    (control,) = [t for t in outcome.trials if "-control-" in t.id]
    assert control.warm_up
    assert [j.judgement.outcome for j in outcome.judged] == ["reject", "accept"]
    assert outcome.judged[1].judgement.pairs == PAIRS


def test_a_candidate_whose_control_run_differs_too_is_inconclusive() -> None:
    # The query returned the right result in every round, and another one in the control run.
    def behaviour(policy: Policy, before: int, binding: int) -> Ran:
        return Ran(HALF[policy], WRONG if before == (2 if policy is FEWER else 3) else RIGHT)

    verdict = experiment(FakeWorkspace(behaviour), FEWER).verdict
    assert (verdict.outcome, verdict.reason) == ("inconclusive", VARIES)


def test_a_wrong_result_in_the_warm_up_is_a_wrong_result() -> None:
    def behaviour(policy: Policy, before: int, binding: int) -> Ran:
        return Ran(HALF[policy], WRONG if policy is FEWER and before == 0 else RIGHT)

    verdict = experiment(FakeWorkspace(behaviour), FEWER).verdict
    assert (verdict.outcome, verdict.results_equal) == ("reject", False)


def test_a_wrong_result_of_any_binding_is_a_wrong_result() -> None:
    def behaviour(policy: Policy, before: int, binding: int) -> Ran:
        return Ran(HALF[policy], WRONG if policy is FEWER and binding == 1 else RIGHT)

    verdict = experiment(FakeWorkspace(behaviour), FEWER, bindings=2).verdict
    assert (verdict.outcome, verdict.results_equal) == ("reject", False)


# Rows one by one, before anything is accepted


def test_a_result_that_is_the_same_to_the_bit_and_has_no_order_needs_no_second_look() -> None:
    outcome = experiment(FakeWorkspace(costs(HALF)), FEWER)
    assert (outcome.verdict.outcome, outcome.workspace.asked) == ("accept", [])


def test_rows_that_stand_where_they_stood_need_no_second_look() -> None:
    outcome = experiment(FakeWorkspace(costs(HALF), ordered=True), FEWER)
    assert (outcome.verdict.outcome, outcome.workspace.asked) == ("accept", [])


def in_other_places(policy: Policy, before: int, binding: int) -> Ran:
    return Ran(HALF[policy], places="abc" if policy is ORIGINAL else "acb")


def test_rows_in_other_places_that_tie_are_accepted_after_a_second_look() -> None:
    outcome = experiment(FakeWorkspace(in_other_places, ordered=True), FEWER)
    assert (outcome.verdict.outcome, outcome.workspace.asked) == ("accept", [FEWER])


def test_a_result_too_long_for_the_place_of_every_row_gets_a_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment_module, "FEW_ROWS", RIGHT.rows - 1)
    outcome = experiment(FakeWorkspace(costs(HALF), ordered=True), FEWER)
    assert (outcome.verdict.outcome, outcome.workspace.asked) == ("accept", [FEWER])
    assert {t.digest.sequence for t in outcome.trials if t.digest} == {None}


def test_a_promised_order_that_is_broken_is_rejected() -> None:
    workspace = FakeWorkspace(in_other_places, ordered=True, differences={FEWER: "2 rows stand in another place"})
    verdict = experiment(workspace, FEWER).verdict
    assert (verdict.outcome, verdict.results_equal) == ("reject", False)
    assert verdict.reason == "the result is not the same: 2 rows stand in another place"


def test_an_order_that_the_query_itself_does_not_keep_is_inconclusive() -> None:
    workspace = FakeWorkspace(in_other_places, ordered=True, differences={FEWER: "2 rows", ORIGINAL: "3 rows"})
    verdict = experiment(workspace, FEWER).verdict
    assert (verdict.outcome, verdict.reason) == ("inconclusive", VARIES)


def in_the_last_digits(policy: Policy, before: int, binding: int) -> Ran:
    return Ran(HALF[policy], RIGHT if policy is ORIGINAL else LAST_DIGITS)


def test_floating_point_that_differs_in_the_last_digits_is_accepted_after_a_second_look() -> None:
    outcome = experiment(FakeWorkspace(in_the_last_digits), FEWER)
    assert (outcome.verdict.outcome, outcome.workspace.asked) == ("accept", [FEWER])


def test_floating_point_that_differs_row_by_row_is_rejected_though_its_sum_is_the_same() -> None:
    workspace = FakeWorkspace(in_the_last_digits, differences={FEWER: "column 1: 5 rows"})
    verdict = experiment(workspace, FEWER).verdict
    assert (verdict.outcome, verdict.results_equal) == ("reject", False)


def test_a_candidate_that_is_not_accepted_needs_no_second_look() -> None:
    outcome = experiment(FakeWorkspace(costs({ORIGINAL: 3.0, FEWER: 3.0}), ordered=True), FEWER)
    assert (outcome.verdict.outcome, outcome.workspace.asked) == ("reject", [])


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
        return Ran(1_000_000.0 if policy is FEWER and before else 3.0)

    outcome = experiment(FakeWorkspace(behaviour), FEWER)
    assert (outcome.verdict.outcome, outcome.verdict.reason) == ("reject", "the candidate ran out of time")


def test_the_query_as_it_is_gets_what_the_budget_leaves() -> None:
    outcome = experiment(FakeWorkspace(costs(HALF), budgets=Budgets(per_query=300.0)), FEWER)
    given = timeouts(outcome, ORIGINAL)
    assert given[0] in (300.0, 298.5)  # the candidate may have gone first
    assert given == sorted(given, reverse=True)


# Arms over other tables

CLONE = PinnedTable("sales", "/scratch/sales", "t-2", 1)


class Cloned(FakeWorkspace):
    """Half the work where `sales` is read from the clone, whatever the policy."""

    def execute(self, query: Query, binding: int, arm: Arm, *, timeout_s: float, in_order: bool) -> Any:
        done = super().execute(query, binding, arm, timeout_s=timeout_s, in_order=in_order)
        if CLONE in arm.tables:
            done.counters = counters(cpu_s=1.5, **HALF_THE_WORK)
        return done


def test_the_same_policy_over_two_tables_is_two_arms() -> None:
    workspace = Cloned(costs({ORIGINAL: 3.0}))
    outcome = experiment(workspace, ORIGINAL, arm_of=lambda c: workspace.arm(c.policy).reading(CLONE))
    assert (outcome.verdict.outcome, outcome.verdict.pairs) == ("accept", FEW)
    assert {t.policy_id for t in outcome.trials} == {ORIGINAL.id}
    assert len({t.id for t in outcome.trials}) == len(outcome.trials) == 2 + 2 * FEW


def test_trials_over_the_pinned_tables_have_the_ids_they_always_had() -> None:
    first, second, *_ = [t.id for t in experiment(FakeWorkspace(costs(HALF)), FEWER).trials]
    assert first == f"tri-run-q-{ORIGINAL.id[4:12]}-r0-b0"
    assert second == f"tri-run-q-{FEWER.id[4:12]}-r0-b0"
