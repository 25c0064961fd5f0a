"""The regression gates, both ways: what must pass passes, what must fail fails, and a regression is severe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planopt_assets.loop.standing import Standing
from planopt_assets.loop.verdict_gates import gain_proven, not_regressed, results_equal
from planopt_assets.model.gate import Compared, Gate
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.verdict import Verdict
from planopt_assets.promote.transitions import Event
from planopt_tests.promote.events import EXPIRED, REGRESSED, accept, chain_of, fix, verdict_of
from planopt_tests.rows import FEWER, OTHER, Row, artifact, criteria, promotion, standing, verdict

pytestmark = pytest.mark.fast

ACTIVE = promotion(FEWER, "ver-run-q-can_1")
PROOF = verdict(FEWER, verdict_id="ver-run-q-can_1")


# results_equal


def test_results_are_equal_where_no_candidate_was_tried() -> None:
    assert results_equal(standing()) == Gate(True, False, "no candidate was tried")


NEVER = standing(artifacts=[])
MOVED = standing(artifacts=[], changes=("sales v1 -> v2",))
FAILED = standing(artifacts=[artifact("failed", error_code="PLN-207")])
REFUSED = standing(artifacts=[artifact("refused")])


def test_no_results_were_compared_of_a_query_that_never_ran() -> None:
    words = "not observed: the query never ran"
    assert results_equal(NEVER) == Gate(False, False, words, observed=False)
    assert results_equal(MOVED) == Gate(True, False, "no candidate was tried")


def test_no_results_were_compared_of_a_query_that_failed() -> None:
    words = "not observed: the query failed (PLN-207)"
    assert results_equal(FAILED) == Gate(False, False, words, observed=False)
    assert results_equal(
        standing(artifacts=[artifact("failed", error_code="PLN-207")], verdicts=[verdict(FEWER)])
    ).passed


def test_a_query_that_was_refused_has_no_candidates() -> None:
    assert results_equal(REFUSED) == Gate(True, False, "no candidate was tried")


def test_results_are_equal_where_every_candidate_returned_the_same() -> None:
    both = standing(verdicts=[verdict(FEWER), verdict(OTHER, outcome="reject")])
    assert results_equal(both) == Gate(True, False, "2 candidate(s) compared over the whole result")


def test_a_candidate_that_could_not_be_compared_is_not_counted_as_compared() -> None:
    untold = standing(verdicts=[verdict(FEWER, outcome="inconclusive", results_equal=None), verdict(OTHER)])
    assert results_equal(untold) == Gate(True, False, "1 candidate(s) compared over the whole result")


def test_a_rejected_candidate_with_another_result_fails_the_gate_and_is_no_regression() -> None:
    wrong = verdict(FEWER, outcome="reject", results_equal=False, reason="the result is not the same: 3 rows")
    gate = results_equal(standing(verdicts=[wrong, verdict(OTHER)]))
    assert gate == Gate(False, False, "1 candidate(s) rejected: the result is not the same: 3 rows")


def test_an_accepted_candidate_with_another_result_is_a_regression() -> None:
    gate = results_equal(standing(verdicts=[verdict(FEWER, outcome="accept", results_equal=False)]))
    assert gate == Gate(False, True, "a verdict accepts a candidate whose result is not the same")


# not_regressed


def test_a_query_that_runs_as_original_has_not_regressed() -> None:
    for found in (standing(), MOVED, FAILED, REFUSED):
        assert not_regressed(found) == Gate(True, False, "the query runs as original")


def test_a_store_that_knows_nothing_of_a_query_cannot_say_that_it_has_not_regressed() -> None:
    assert not_regressed(NEVER) == Gate(False, False, "not observed: the query never ran", observed=False)


def test_a_policy_in_force_is_judged_though_the_query_was_not_observed_here() -> None:
    assert not_regressed(standing(artifacts=[], active=ACTIVE, promoted_by=PROOF)).passed


def test_a_policy_in_force_that_was_proven_has_not_regressed() -> None:
    gate = not_regressed(standing(active=ACTIVE, promoted_by=PROOF))
    assert gate == Gate(True, False, "shuffle.partitions=2 in force, proven by ver-run-q-can_1")


WORSE = {
    "another result": {"results_equal": False},
    "a broken guard": {"criteria": criteria(results_equal=True, wall_ns=False, objective__cpu=True)},
    "surely slower": {"criteria": criteria(objective__cpu=False), "gain_low": 1.01},
}


@pytest.mark.parametrize("found", WORSE.values(), ids=WORSE)
def test_a_policy_in_force_that_is_found_worse_on_the_current_inputs_is_a_regression(found: Row) -> None:
    worse = verdict(FEWER, outcome="reject", reason="why", **found)
    gate = not_regressed(standing(active=ACTIVE, promoted_by=PROOF, verdicts=[worse]))
    assert gate == Gate(False, True, "shuffle.partitions=2 was found worse on the current inputs: why")


def test_a_pin_that_was_measured_again_and_found_worse_is_told() -> None:
    pinned = replace(ACTIVE, state="fixed", who="ada")
    again = verdict(FEWER, outcome="reject", reason="why", purpose="confirm", results_equal=False)
    gate = not_regressed(standing(active=pinned, past_verdicts=[again]))
    assert (gate.passed, gate.severe) == (False, True)
    assert "was found worse on the current inputs: why" in gate.words


def test_a_policy_in_force_that_only_lost_its_gain_has_not_regressed() -> None:
    no_gain = verdict(FEWER, outcome="reject", criteria=criteria(wall_ns=True, objective__cpu=False), gain_low=0.99)
    assert not_regressed(standing(active=ACTIVE, promoted_by=PROOF, verdicts=[no_gain])).passed


def test_a_policy_in_force_that_could_not_be_measured_again_has_not_regressed() -> None:
    unmeasured = verdict(FEWER, outcome="reject", results_equal=None, gain_low=None)
    assert not_regressed(standing(active=ACTIVE, promoted_by=PROOF, verdicts=[unmeasured])).passed


@pytest.mark.parametrize("outcome", ["accept", "inconclusive"])
def test_a_policy_that_was_not_found_worse_stays(outcome: str) -> None:
    again = verdict(FEWER, outcome=outcome)
    assert not_regressed(standing(active=ACTIVE, promoted_by=PROOF, verdicts=[again])).passed


def test_another_policy_found_worse_says_nothing_about_the_one_in_force() -> None:
    other = verdict(OTHER, outcome="reject", results_equal=False)
    assert not_regressed(standing(active=ACTIVE, promoted_by=PROOF, verdicts=[other])).passed


@pytest.mark.parametrize(
    "proof",
    [
        None,
        verdict(FEWER, outcome="reject"),
        verdict(FEWER, outcome="inconclusive"),
        verdict(OTHER),
    ],
    ids=["no verdict", "rejected", "inconclusive", "verdict on another policy"],
)
def test_a_policy_in_force_without_an_accepted_verdict_is_a_regression(proof: Verdict | None) -> None:
    gate = not_regressed(standing(active=ACTIVE, promoted_by=proof))
    assert gate == Gate(False, True, "generation 1 has no accepted verdict in the store")


def test_an_accept_with_a_criterion_that_did_not_pass_is_no_proof() -> None:
    edited = verdict(FEWER, criteria=criteria(results_equal=True, wall_ns=False, objective__cpu=True))
    gate = not_regressed(standing(active=ACTIVE, promoted_by=edited))
    assert gate == Gate(
        False, True, f"verdict {edited.id} of generation 1 is no proof: its criterion wall_ns did not pass"
    )


def test_a_policy_that_is_vetoed_when_it_is_applied_is_a_regression() -> None:
    smuggled = Policy.of({"spark.sql.ansi.enabled": "false"})
    gate = not_regressed(standing(active=promotion(smuggled), promoted_by=verdict(smuggled)))
    assert gate == Gate(False, True, "generation 1 is not applied: spark.sql.ansi.enabled may change results")


# not_regressed, after a person or watch changed something


def after(*events: Event, **others: Any) -> Standing:
    chain = chain_of(*events)
    return standing(chain=chain, **others)


WRONG = verdict(FEWER, outcome="reject", results_equal=False, reason="3 rows differ")
SLOWER = verdict(FEWER, outcome="reject", gain_low=1.01, reason="it is slower")

ENDED: dict[str, tuple[Standing, Gate]] = {
    "reverted to original": (
        after(accept(FEWER), REGRESSED),
        Gate(True, False, "the query runs as original since generation 2 (reverted: it got worse)"),
    ),
    "reverted to the policy before": (
        after(accept(FEWER), accept(OTHER), REGRESSED, promoted_by=verdict_of(FEWER)),
        Gate(
            True,
            False,
            "shuffle.partitions=2 in force since generation 3 (reverted: it got worse), proven by "
            f"ver-1-q-{FEWER.id[4:]}",
        ),
    ),
    "reverted to a policy without its verdict": (
        after(accept(FEWER), accept(OTHER), REGRESSED),
        Gate(False, True, "generation 3 has no accepted verdict in the store"),
    ),
    "expired": (
        after(accept(FEWER), EXPIRED),
        Gate(True, False, "the query runs as original since generation 2 (expired: the engine changed)"),
    ),
    "pinned": (
        after(fix(FEWER)),
        Gate(True, False, "shuffle.partitions=2 is pinned by ada: it is known to be good"),
    ),
    "pinned to original": (
        after(fix(ORIGINAL)),
        Gate(True, False, "the query runs as original since generation 1 (fixed: it is known to be good)"),
    ),
    "pinned though slower": (
        after(fix(FEWER), verdicts=[SLOWER]),
        Gate(
            False,
            False,
            "shuffle.partitions=2 is pinned by ada: it is known to be good, but shuffle.partitions=2 was found worse "
            "on the current inputs: it is slower",
        ),
    ),
    "pinned though wrong": (
        after(fix(FEWER), verdicts=[WRONG]),
        Gate(
            False,
            True,
            "shuffle.partitions=2 is pinned by ada: it is known to be good, but shuffle.partitions=2 was found worse "
            "on the current inputs: 3 rows differ",
        ),
    ),
    "in force though something is due": (
        after(accept(FEWER), promoted_by=verdict_of(FEWER), due=EXPIRED),
        Gate(False, True, "shuffle.partitions=2 should not be in force any more: the engine changed"),
    ),
}


@pytest.mark.parametrize(("found", "gate"), ENDED.values(), ids=ENDED)
def test_not_regressed_understands(found: Standing, gate: Gate) -> None:
    assert not_regressed(found) == gate


def test_the_verdict_that_promoted_a_policy_never_counts_against_it() -> None:
    proof = verdict(FEWER, verdict_id="ver-run-q-can_1", gain_low=1.01)
    assert not_regressed(standing(active=ACTIVE, promoted_by=proof, verdicts=[proof])).passed


# gain_proven


def test_an_accepted_change_is_a_proven_gain() -> None:
    found = gain_proven(standing(verdicts=[verdict(FEWER)]))
    assert (found.passed, found.severe, found.numbers) == (True, False, {"gain_percent": pytest.approx(30)})


@pytest.mark.parametrize(
    ("outcome", "words"), [("reject", "is not better"), ("inconclusive", "without a clear answer")]
)
def test_a_change_that_was_not_proven_is_a_remark_and_no_regression(outcome: str, words: str) -> None:
    found = gain_proven(standing(verdicts=[verdict(FEWER, outcome=outcome)]))
    assert (found.passed, found.severe, found.observed) == (False, False, True)
    assert words in found.words


def test_a_query_without_a_trial_passes_and_one_that_never_ran_has_no_answer() -> None:
    assert gain_proven(standing()) == Gate(True, False, "no change was tried on the current inputs")
    assert not gain_proven(NEVER).observed


def test_a_gate_tells_both_values_and_the_threshold() -> None:
    clocks = (
        '[{"name": "objective:cpu", "passed": false, "baseline": 4e9, "candidate": 4.1e9, "threshold": "below 0.97"}]'
    )
    found = gain_proven(standing(verdicts=[verdict(FEWER, outcome="reject", criteria=clocks)]))
    assert found.compared == Compared("4.000 s cpu as original", "4.100 s cpu with the change", "below 0.97")
