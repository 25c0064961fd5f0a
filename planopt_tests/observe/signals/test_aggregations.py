"""Groupings in two steps, and operators that spilled."""

from __future__ import annotations

import pytest

from planopt_assets.model.signals import Aggregation, Spill
from planopt_assets.observe.signals.aggregations import aggregations, spills
from planopt_assets.observe.signals.tree import Tree
from planopt_tests.observe.join_shapes import recorded_run
from planopt_tests.observe.signals.plans import tree

pytestmark = pytest.mark.fast

BY_TWO = """
{0} | {0}(keys=[a#0, b#1], functions=[sum(c#2)]) | rows=17
  {1}
    Exchange | shuffle 200 | wrote=40
      {0} | {0}(keys=[a#0, b#1], functions=[partial_sum(c#2)]) | rows=40
        Project
          Filter | Filter (c#2 > 3) | rows=900
            Scan parquet | table sales | rows=1000
"""


@pytest.mark.parametrize("kind", ["HashAggregate", "ObjectHashAggregate", "SortAggregate"])
@pytest.mark.parametrize("between", ["AQEShuffleRead", "Sort"])
def test_a_grouping_has_what_went_in_what_the_first_step_left_and_its_groups(kind: str, between: str) -> None:
    expected = Aggregation(3, rows_in=900, rows_partial=40, groups=17, keys=2)
    assert aggregations(tree(BY_TWO.format(kind, between))) == (expected,)


@pytest.mark.parametrize(
    ("kind", "sorted_tasks"), [("ObjectHashAggregate", 2), ("HashAggregate", None), ("SortAggregate", None)]
)
def test_only_an_object_aggregation_sorts_for_the_number_of_its_groups(kind: str, sorted_tasks: int | None) -> None:
    outline = f"""
{kind} | {kind}(keys=[a#0], functions=[collect_set(c#2)]) | rows=900 fallbacks=1
  Exchange | shuffle 200 | wrote=1800
    {kind} | {kind}(keys=[a#0], functions=[partial_collect_set(c#2)]) | rows=1800 fallbacks=2
      Scan parquet | table sales | rows=5000
"""
    assert [a.sorted_tasks for a in aggregations(tree(outline))] == [sorted_tasks]


def test_a_grouping_that_needs_no_shuffle_still_has_two_steps() -> None:
    outline = """
HashAggregate | HashAggregate(keys=[a#0], functions=[sum(c#2)]) | rows=5
  HashAggregate | HashAggregate(keys=[a#0], functions=[partial_sum(c#2)]) | rows=5
    Scan parquet | table sales | rows=100
"""
    assert aggregations(tree(outline)) == (Aggregation(1, 100, 5, 5, 1),)


@pytest.mark.parametrize(
    ("second", "rows_in"),
    [("rows=30", 130), ("", None)],
    ids=["both inputs tell their rows", "one does not"],
)
def test_the_rows_out_of_a_union_are_those_of_all_its_inputs(second: str, rows_in: int | None) -> None:
    """Spark counts no rows at a union, and none at the projections around it."""
    outline = f"""
HashAggregate | HashAggregate(keys=[a#0], functions=[sum(c#2)]) | rows=5
  Exchange | shuffle 8 | wrote=9
    HashAggregate | HashAggregate(keys=[a#0], functions=[partial_sum(c#2)]) | rows=9
      Project
        Union
          Project
            Scan parquet | table sales | rows=100
          Scan parquet | table shops | {second}
"""
    assert [a.rows_in for a in aggregations(tree(outline))] == [rows_in]


def test_one_group_over_everything_has_no_keys() -> None:
    outline = """
HashAggregate | HashAggregate(keys=[], functions=[sum(c#2)]) | rows=1
  Exchange | Exchange SinglePartition, ENSURE_REQUIREMENTS | wrote=6
    HashAggregate | HashAggregate(keys=[], functions=[partial_sum(c#2)]) | rows=6
      Scan parquet | table sales | rows=100
"""
    assert aggregations(tree(outline)) == (Aggregation(2, 100, 6, 1, 0),)


def test_a_step_alone_is_no_pair() -> None:
    assert aggregations(tree("HashAggregate | HashAggregate(keys=[a#0], functions=[])\n  Scan parquet")) == ()


def test_one_aggregation_of_another_is_two_pairs_and_not_three() -> None:
    found = aggregations(Tree(recorded_run("distinct").final))
    assert [(a.keys, a.rows_in, a.groups) for a in found] == [(1, 89, 17), (2, 90, 89)]
    assert all(a.rows_partial is not None for a in found)


def test_a_step_behind_a_reused_exchange_is_counted_once() -> None:
    plan = recorded_run("cte_twice").final
    assert [n.kind for n in plan.nodes].count("ReusedExchange") == 1
    (found,) = aggregations(Tree(plan))
    assert (found.rows_in, found.groups) == (400, 17)


def test_operators_that_spilled_are_named_with_their_bytes() -> None:
    outline = "Sort | Sort [a#0] | spill=10\n  HashAggregate | | spill=0\n    SortMergeJoin | | spill=7\n      Scan"
    assert spills(tree(outline)) == (Spill(0, "Sort", 10), Spill(2, "SortMergeJoin", 7))
