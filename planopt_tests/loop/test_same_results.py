"""Every result of an experiment is compared with the observed one, and row by row before anything is accepted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planopt_assets.loop import trial_runs
from planopt_assets.loop.same_results import VARIES
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.validate.judge_rules import Rules
from planopt_tests.loop.fake_workspace import (
    FEWER,
    HALF,
    OTHER,
    RIGHT,
    WRONG,
    FakeWorkspace,
    Ran,
    costs,
    experiment,
    rounds_of,
)

pytestmark = pytest.mark.fast

LAST_DIGITS = replace(RIGHT, bits="other")
PAIRS = Rules().min_pairs  # for the clocks alone
FEW = Rules().confirm_pairs  # where counters show it, and for a candidate that has no chance


# Digests of every round


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
    monkeypatch.setattr(trial_runs, "FEW_ROWS", RIGHT.rows - 1)
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
