"""The simple tuners of the benchmark: what they try with a given budget, and what they take."""

from __future__ import annotations

import doctest
from collections.abc import Callable

import pytest

import benchmarks.arms_knobs
from benchmarks.arms_knobs import FOUR, THREE, Ran, best, combinations, next_of_grid, next_of_three, shares
from benchmarks.arms_tuner import tuned
from planopt_assets.decide.knobs import objections
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Knobs, Query

pytestmark = pytest.mark.fast

QUERY = Query("q", sql="SELECT 1")
PARTITIONS, BROADCAST, SPLITS = THREE
SOME = {"a": ("1", "2"), "b": ("1",)}


def spent(runs: int, cpu_s: Callable[[Policy], float | None]) -> list[Ran]:
    """What the three-knob tuner runs on a query that takes so much in each combination."""
    return tuned(QUERY, lambda _, ran: next_of_three(ran, runs), cpu_s)


def by_setting(**seconds: float) -> Callable[[Policy], float | None]:
    """Original takes 10 s; each value that is named takes so much of it, together or alone."""

    def cpu_s(policy: Policy) -> float | None:
        return 10 * min((seconds.get(f"v{value}", 1.0) for _, value in policy.settings), default=1.0)

    return cpu_s


@pytest.mark.parametrize("runs", [0, 1, 2, 3, 9, 27, 60])
def test_exactly_the_given_runs_are_spent(runs: int) -> None:
    assert len(spent(runs, lambda _: 1.0)) == runs


def test_a_third_of_the_runs_is_kept_for_the_best_ones_again() -> None:
    ran = [r.policy for r in spent(12, lambda policy: 10.0 - len(policy.parts))]
    assert len(set(ran)) == 8
    assert ran[:2] == [ORIGINAL, ORIGINAL]  # to warm up, and to compare with
    again = [policy for number, policy in enumerate(ran) if policy in ran[:number] and number > 1]
    assert len(again) == len(set(again)) == 3


def test_each_knob_is_tried_on_top_of_the_best_so_far() -> None:
    ran = [dict(r.policy.settings) for r in spent(12, by_setting(v2=0.5))]
    eight, two = {PARTITIONS: "8"}, {PARTITIONS: "2"}
    assert ran[2:4] == [eight, two]
    assert ran[4:6] == [two | {BROADCAST: value} for value in THREE[BROADCAST]]
    assert ran[6:8] == [two | {SPLITS: value} for value in THREE[SPLITS]]
    assert best(spent(12, by_setting(v2=0.5))) == Policy.of(two)


def test_a_combination_that_fails_is_out_and_nothing_is_built_on_it() -> None:
    def cpu_s(policy: Policy) -> float | None:
        return None if ("8") in dict(policy.settings).values() else 10.0 - len(policy.parts)

    ran = spent(20, cpu_s)
    eight = Policy.of({PARTITIONS: "8"})
    assert [r.policy for r in ran].count(eight) == 1
    assert ran[4].policy == Policy.of({PARTITIONS: "2", BROADCAST: THREE[BROADCAST][0]})
    assert best(ran).settings[-1] == (PARTITIONS, "2")


def test_where_everything_fails_the_query_stays_as_it_is_and_the_run_goes_on() -> None:
    ran = spent(9, lambda policy: None if policy.parts else 1.0)
    assert len(ran) == 9
    assert best(ran) == ORIGINAL


def test_a_query_whose_original_fails_is_given_up() -> None:
    assert spent(9, lambda _: None) == [Ran(ORIGINAL, None)]
    assert best([Ran(ORIGINAL, None)]) == ORIGINAL


def test_the_best_median_is_taken_and_the_first_run_does_not_count() -> None:
    some = Policy.of({"a": "1"})
    ran = [Ran(ORIGINAL, 99.0), *(Ran(ORIGINAL, s) for s in (3.0, 3.0, 3.0)), *(Ran(some, s) for s in (1.0, 4.0, 5.0))]
    assert best(ran) == ORIGINAL
    assert best([*ran, Ran(some, 1.0), Ran(some, 1.0)]) == some


def test_the_grid_tries_all_once_and_the_best_three_times() -> None:
    ran = tuned(QUERY, lambda _, so_far: next_of_grid(so_far, SOME), lambda policy: 10.0 - len(policy.parts))
    counts = [[r.policy for r in ran[1:]].count(p) for p in combinations(SOME)]
    assert sorted(counts) == [1, 3, 3, 3, 3, 3]
    assert len(best(ran).parts) == 2
    assert next_of_grid([Ran(ORIGINAL, None)], SOME) is None


def test_the_grid_holds_all_that_the_tuner_can_find() -> None:
    assert set(combinations(THREE)) < set(combinations(FOUR))
    assert (len(combinations(THREE)), len(combinations(FOUR))) == (27, 96)


def test_every_combination_may_be_set() -> None:
    assert {p.describe(): found for p in combinations(FOUR) if (found := objections(p, Knobs()))} == {}


def test_the_budget_is_shared_whole() -> None:
    assert shares(198, dict.fromkeys(map(str, range(22)), 1)) == dict.fromkeys(map(str, range(22)), 9)
    assert sum(shares(200, dict.fromkeys(map(str, range(22)), 1)).values()) == 200
    runs = shares(21, {"a": 2, "b": 1})
    assert 2 * runs["a"] + runs["b"] == 21


def test_the_examples_are_true() -> None:
    assert doctest.testmod(benchmarks.arms_knobs).failed == 0
