"""What the benchmark says of planopt in sentences: every one follows from the raw numbers."""

from __future__ import annotations

import doctest
from typing import Any

import pytest

import benchmarks.arms_words
from benchmarks.arms_names import ARMS, BY_DEFAULT, REMEDIES, SAME_FOR_ALL
from benchmarks.arms_numbers import against, best_of, share_reached
from benchmarks.arms_page import page, table
from benchmarks.arms_words import sentences
from planopt_tests.benchmarks.test_arms_page import clocks, raw

pytestmark = pytest.mark.fast


def arms(**seconds: float) -> dict[str, Any]:
    """Raw numbers of arms in which two queries take so long each."""
    return raw(**{arm: {"q1": clocks(each), "q2": clocks(each)} for arm, each in seconds.items()})


def only(found: dict[str, Any], start: str) -> str:
    (one,) = [words for words in sentences(found) if words.startswith(start)]
    return one


def test_policies_are_compared_with_the_best_single_setting_for_all() -> None:
    found = arms(original=10.0, partitions_8=8.0, global_tuning=9.0, optimize_8=4.0, planopt_settings=6.0)
    words = only(found, "planopt_settings against partitions_8, the best arm of one choice for all: 25.0 % less CPU")
    assert "95% interval: " in words
    assert words.endswith("surely better.")


def test_layouts_are_compared_with_the_remedies_too() -> None:
    found = arms(original=10.0, partitions_8=8.0, optimize=6.0, optimize_8=4.0, planopt_layout=5.0)
    assert only(found, "planopt_layout against optimize_8").endswith("surely worse.")


def test_a_difference_within_noise_is_called_so() -> None:
    found = arms(original=10.0, partitions_8=8.0, planopt_settings=8.0)
    found["clocks"]["planopt_settings"]["q1"]["cpu"] = [8.4, 7.7, 8.1]
    assert only(found, "planopt_settings against").endswith("no sure difference.")


def test_an_arm_that_breaks_a_query_is_no_rival_and_its_other_queries_are_not_left_out() -> None:
    found = arms(original=10.0, partitions_8=8.0, global_tuning=1.0, planopt_settings=6.0)
    found["clocks"]["global_tuning"]["q2"] = clocks(0.0, failed=True)
    assert best_of(found, SAME_FOR_ALL) == "partitions_8"
    words = only(found, "planopt_settings against partitions_8")
    assert words.endswith("Not counted: global_tuning, which breaks q2.")
    ratio = against(found, "planopt_settings", "partitions_8")
    assert ratio is not None
    assert ratio.ratio == pytest.approx(0.75)
    found["clocks"]["planopt_settings"]["q2"] = clocks(80.0)  # only in the comparison of both queries does it show
    assert "more CPU" in only(found, "planopt_settings against partitions_8")


def test_where_every_rival_breaks_a_query_that_is_said() -> None:
    found = arms(original=10.0, global_tuning=1.0, planopt_settings=6.0)
    found["clocks"]["global_tuning"]["q1"] = clocks(0.0, failed=True)
    words = only(found, "planopt_settings: every arm of one choice for all breaks a query.")
    assert words.endswith("Not counted: global_tuning, which breaks q1.")


def test_a_rival_whose_result_differs_stays_one_and_is_compared_without_that_query() -> None:
    """Ties before LIMIT leave the result open: no reason to leave out the whole arm."""
    found = arms(original=10.0, partitions_8=8.0, planopt_settings=6.0)
    found["clocks"]["partitions_8"]["q1"] = clocks(1.0, different=True)
    words = only(found, "planopt_settings against partitions_8")
    assert "25.0 % less CPU" in words
    assert words.endswith("surely better, without q1, where results differ.")


def test_the_tuner_with_as_many_executions_is_compared_with_policies_alone() -> None:
    found = arms(original=10.0, planopt_settings=6.0, three_knobs=5.0, planopt_layout=4.0)
    assert [w for w in sentences(found) if "three_knobs" in w] == [
        only(found, "planopt_settings against three_knobs, which had as many executions: 20.0 % more CPU")
    ]


def test_the_share_of_the_grids_gain_is_told_where_it_was_measured() -> None:
    found = arms(original=80.0, planopt_settings=59.0, grid=50.0)
    assert share_reached(found, "planopt_settings", "grid") == pytest.approx(0.7)
    assert only(found, "planopt_settings reaches 70% of what the grid saves in CPU.")
    assert "the grid itself saves no CPU" in " ".join(sentences(arms(original=80.0, planopt_settings=59.0, grid=81.0)))
    assert "grid" not in " ".join(sentences(arms(original=80.0, planopt_settings=59.0)))


def test_queries_that_are_worse_fail_or_differ_are_named() -> None:
    found = arms(original=10.0, planopt_settings=6.0)
    assert "planopt_settings: no query is surely worse than original." in sentences(found)
    found["clocks"]["planopt_settings"]["q2"] = clocks(12.0, different=True)
    assert only(found, "planopt_settings: surely worse than original").endswith("q2.")
    found["policies"] = {"planopt_settings": {"q1": "shuffle.partitions=2"}}
    assert only(found, "planopt_settings: surely").endswith("q2 (runs as original there: chance).")
    found["policies"]["planopt_settings"]["q2"] = "shuffle.partitions=4"
    assert only(found, "planopt_settings: surely").endswith("clock: q2.")
    assert "planopt_settings returns another result: q2." in sentences(found)
    found["clocks"]["planopt_settings"]["q2"] = clocks(0.0, failed=True)
    assert "planopt_settings fails: q2." in sentences(found)


def test_bytes_are_told_against_optimize_of_everything() -> None:
    found = arms(original=10.0, optimize_8=5.0, planopt_layout=4.0)
    found["charges"]["optimize_8"]["bytes_rewritten"] = 400_000_000
    words = "planopt_layout rewrote 5 MB, OPTIMIZE of everything 400 MB: 1% of that."
    assert words in sentences(found)
    assert words in page(found)
    assert words in table(found)


def test_one_round_has_no_interval() -> None:
    once = arms(original=10.0, partitions_8=8.0, planopt_settings=6.0)
    for by in once["clocks"].values():
        for query in by.values():
            query.update(cpu=query["cpu"][:1], wall=query["wall"][:1])
    once["rounds"] = 1
    assert "25.0 % less CPU (one round, no interval)" in only(once, "planopt_settings against")
    assert "planopt_settings: one round proves no query worse than original." in sentences(once)


def test_raw_numbers_without_planopt_say_nothing_of_it() -> None:
    assert sentences(arms(original=10.0, partitions_8=8.0)) == []


def test_the_grid_is_made_on_request_alone() -> None:
    assert set(ARMS) - set(BY_DEFAULT) == {"grid"}
    assert {*SAME_FOR_ALL, *REMEDIES} < set(BY_DEFAULT)
    assert BY_DEFAULT.index("planopt_settings") < BY_DEFAULT.index("three_knobs")


def test_the_examples_are_true() -> None:
    assert doctest.testmod(benchmarks.arms_words).failed == 0
