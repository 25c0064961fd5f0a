"""The order of trials: gain for each second of trial, less sure where statistics are missing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planopt_assets.loop.priority import NO_PROMISE, Promise, in_order, promise
from planopt_tests.rows import FEWER, OTHER, decision

pytestmark = pytest.mark.fast

S = 1_000_000_000


def proposal(gain_s: float, cpu_s: float = 3.0, runs_per_day: float = 24.0, **others: Any) -> dict[str, Any]:
    arithmetic = json.dumps({"modelled_cpu_ns": round(cpu_s * S), "runs_per_day": runs_per_day})
    return decision(arithmetic=arithmetic, expected_gain_cpu_ns=round(gain_s * S), **others)


def test_gain_and_cost_are_the_ones_of_materiality() -> None:
    # 0.48 s x 24 runs x 30 days; 10 executions of 3 s, half of the baseline and half of the one candidate.
    assert promise([proposal(0.48)], "plan") == Promise(round(0.48 * S), round(345.6 * S), 30 * S)


def test_rank_is_what_a_second_of_trial_gains() -> None:
    found = promise([proposal(0.48)], "plan")
    assert (found.rank, found.priority) == (11.52, 12)


@pytest.mark.parametrize(("source", "discount"), [("plan", 1), ("delta_log", 1), ("explain", 0.5), ("none", 0.5)])
def test_without_statistics_a_gain_counts_half(source: str, discount: float) -> None:
    found = promise([proposal(0.48)], source)
    assert (found.discount, found.rank) == (discount, 11.52 * discount)


def test_proposals_together_never_gain_more_than_the_query_costs() -> None:
    both = [proposal(2), proposal(2, policy=OTHER)]
    assert promise(both, "plan").gain_ns_per_run == 3 * S


def test_more_proposals_cost_no_more_because_they_are_tried_together_first() -> None:
    one, two = promise([proposal(1)], "plan"), promise([proposal(1), proposal(1, policy=OTHER)], "plan")
    assert one.trial_cost_ns == two.trial_cost_ns == 30 * S


def test_what_was_weighed_by_the_clock_is_promised_by_the_clock() -> None:
    facts = {"modelled_cpu_ns": 3 * S, "modelled_wall_ns": 2 * S, "saving_wall_ns_per_run": S, "runs_per_day": 1.0}
    found = promise([decision(arithmetic=json.dumps(facts), expected_gain_cpu_ns=0)], "plan")
    assert found == Promise(S, 30 * S, 20 * S)  # 1 s x 30 days; 10 runs of 2 s


def test_without_a_proposal_there_is_no_promise() -> None:
    assert promise([], "plan") == promise([decision("no_change")], "plan") == NO_PROMISE
    assert (NO_PROMISE.rank, NO_PROMISE.priority) == (0, 0)


def test_the_best_promise_goes_first_and_equal_ones_keep_their_order() -> None:
    small, large = promise([proposal(0.2)], "plan"), promise([proposal(0.4)], "plan")
    found = in_order({"a": NO_PROMISE, "b": small, "c": large, "d": small, "e": NO_PROMISE})
    assert found == ["c", "b", "d", "a", "e"]


def test_a_sure_gain_goes_before_a_larger_one_nobody_is_sure_of() -> None:
    sure, unsure = promise([proposal(0.4)], "plan"), promise([proposal(0.6, policy=FEWER)], "none")
    assert in_order({"unsure": unsure, "sure": sure}) == ["sure", "unsure"]
