"""One experiment: interleaved rounds against the baseline, until all is settled or the budget is gone."""

from __future__ import annotations

from typing import Any

import pytest

from planopt_assets.model.arm import Arm
from planopt_assets.model.inputs import PinnedTable
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Query
from planopt_assets.validate.judge_rules import Rules
from planopt_assets.validate.round_order import round_order
from planopt_tests.loop.fake_workspace import (
    FEWER,
    HALF,
    HALF_THE_WORK,
    OTHER,
    FakeWorkspace,
    Ran,
    costs,
    experiment,
    rounds_of,
    working,
)
from planopt_tests.measured import counters

pytestmark = pytest.mark.fast

PAIRS = Rules().min_pairs  # for the clocks alone
FEW = Rules().confirm_pairs  # where counters show it, and for a candidate that has no chance


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
    # OTHER has no chance, which its first pair shows; then it is FEWER's turn.
    rounds = rounds_of(experiment(FakeWorkspace(costs({**HALF, OTHER: 3.3})), OTHER, FEWER))
    assert rounds[0] == [ORIGINAL, OTHER, FEWER]
    assert set(rounds[1]) == {ORIGINAL, OTHER}
    assert all(set(rounds[n]) == {ORIGINAL, FEWER} for n in range(2, len(rounds)))


def test_a_candidate_without_a_chance_takes_three_executions() -> None:
    outcome = experiment(FakeWorkspace(costs({ORIGINAL: 3.0, FEWER: 3.0}), warm=True), FEWER)
    assert (outcome.verdict.outcome, len(outcome.trials)) == ("reject", 3)
    assert outcome.verdict.reason == "no chance: counters show no less work, and no clock a gain (cpu +0%)"
    assert outcome.judged[0].error_spent == 0.0


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


# What most other queries gained from goes first

BOTH = FEWER.merged(OTHER)


def test_it_runs_alone_before_another_candidate_has_its_first_run() -> None:
    """OTHER does less work: it would lead the race."""
    seconds = {ORIGINAL: 3.0, FEWER: 3.3, OTHER: 1.5}
    rounds = rounds_of(experiment(FakeWorkspace(costs(seconds)), OTHER, FEWER, first=FEWER))
    assert rounds[0] == [ORIGINAL, FEWER]
    assert set(rounds[1]) == {ORIGINAL, FEWER}
    assert rounds[2] == [OTHER]


def test_a_combination_that_holds_it_goes_before_it() -> None:
    outcome = experiment(FakeWorkspace(costs({**HALF, OTHER: 1.5, BOTH: 1.0})), FEWER, OTHER, BOTH, first=FEWER)
    assert {t.policy_id for t in outcome.trials} == {ORIGINAL.id, BOTH.id}
    assert {j.candidate.policy: j.judgement.outcome for j in outcome.judged}[BOTH] == "accept"


def test_when_that_combination_fails_it_is_the_next_and_its_other_parts_come_after_it() -> None:
    """The other part does harm, and its first run does less work than that of what goes first."""
    ran = {ORIGINAL: {}, FEWER: {"tasks": 50}, OTHER: {"tasks": 5}, BOTH: {"tasks": 5}}
    told = working({ORIGINAL: 3.0, FEWER: 1.5, OTHER: 5.0, BOTH: 4.0}, ran)
    outcome = experiment(FakeWorkspace(told), FEWER, OTHER, BOTH, first=FEWER)
    assert [j.judgement.outcome for j in outcome.judged] == ["accept", "reject", "reject"]
    order = list(dict.fromkeys(t.policy_id for t in outcome.trials if t.policy_id != ORIGINAL.id))
    assert order == [BOTH.id, FEWER.id, OTHER.id]
    paired = [t.policy_id for t in outcome.trials if not t.warm_up and t.policy_id != ORIGINAL.id]
    assert paired.index(OTHER.id) > max(n for n, policy_id in enumerate(paired) if policy_id == FEWER.id)


# Warm-up


def test_only_the_first_round_is_a_warm_up() -> None:
    trials = experiment(FakeWorkspace(costs(HALF)), FEWER).trials
    assert {t.round for t in trials if t.warm_up} == {0}
    assert {t.round for t in trials if not t.warm_up} == set(range(1, PAIRS + 1))


@pytest.mark.parametrize(("cold", "warm", "outcome", "pairs"), [(0.1, 3.0, "reject", 1), (9.0, 1.5, "accept", PAIRS)])
def test_the_warm_up_is_never_counted(cold: float, warm: float, outcome: str, pairs: int) -> None:
    def behaviour(policy: Policy, before: int, binding: int) -> Ran:
        return Ran(3.0 if policy is ORIGINAL else warm if before else cold)

    verdict = experiment(FakeWorkspace(behaviour), FEWER).verdict
    assert (verdict.outcome, verdict.pairs) == (outcome, pairs)


# Arms over other tables

CLONE = PinnedTable("sales", "/scratch/sales", "t-2", 1)


class Cloned(FakeWorkspace):
    """Half the work where `sales` is read from the clone, whatever the policy."""

    def execute(self, query: Query, binding: int, arm: Arm, *, timeout_s: float, in_order: bool, **how: Any) -> Any:
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
