"""Joins of an executed plan: what each input was thought to be, what it was, and how it came to the join."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planopt_assets.model.plan import Estimate, Plan
from planopt_assets.model.signals import Join, JoinInput
from planopt_assets.observe.signals.join_text import is_join_kind, join_text, key_count
from planopt_assets.observe.signals.joins import Groupable, joins
from planopt_assets.observe.signals.tree import Tree
from planopt_tests.observe.join_shapes import recorded_run
from planopt_tests.observe.signals.plans import tree

pytestmark = pytest.mark.fast

PLANNED = """
SortMergeJoin | SortMergeJoin [a#0, k#1], [b#2, l#3], Inner
  Sort | | width=12
    Exchange | shuffle 200 | width=12
      Project
        HashAggregate | HashAggregate(keys=[a#0, k#1], functions=[]) | width=42
          Scan parquet | table sales | width=42
  Sort | | width=8
    Exchange | shuffle 200 | width=8
      Scan parquet | table shops | width=8
"""
RAN = """
BroadcastHashJoin | BroadcastHashJoin [k#0, a#1], [l#2, b#3], Inner, BuildRight, false | rows=390
  AQEShuffleRead | AQEShuffleRead local | width=12
    Exchange | shuffle 200 | wrote=400 width=12
      Project
        HashAggregate | HashAggregate(keys=[a#0, k#1], functions=[]) | rows=400 width=42
          Scan parquet | table sales | rows=1000 width=42
  BroadcastExchange | BroadcastExchange HashedRelationBroadcastMode | rows=17 width=8
    AQEShuffleRead | AQEShuffleRead local | width=8
      Exchange | shuffle 200 | wrote=17 width=8
        Scan parquet | table shops | rows=17 width=8
"""


def estimated(planned: Tree, **sizes: int) -> Tree:
    """The plan with estimates in bytes, by the kind of operator and its place."""
    nodes = tuple(
        replace(n, estimate=Estimate(bytes=sizes[name], source="plan"))
        if (name := f"{n.kind}{n.index}") in sizes
        else n
        for n in planned.plan.nodes
    )
    return Tree(Plan(planned.plan.phase, nodes, "x"))


def only(ran: str, planned: str = PLANNED, targets: Any = None) -> Join:
    (join,) = joins(tree(ran), tree(planned, "initial"), targets or {})
    return join


def test_a_join_that_adaptive_execution_switched_says_what_it_was_and_what_it_became() -> None:
    initial = estimated(tree(PLANNED, "initial"), HashAggregate4=5_000, **{"Scan parquet8": 160})
    assert joins(tree(RAN), initial, {0: ("join0.left s", "join0.right p")}) == (
        Join(
            node=0,
            kind="Inner",
            planned_strategy="SortMergeJoin",
            strategy="BroadcastHashJoin",
            build="right",
            # 5,000 bytes were reckoned for rows of 42 + 8 bytes; the join gets 12 + 8 of them.
            left=JoinInput(
                400, 400 * 20, 2_000, shuffled=True, tables=("sales",), aggregated=True, target="join0.left s"
            ),
            right=JoinInput(17, 17 * 16, 160, shuffled=True, tables=("shops",), target="join0.right p"),
            rows=390,
        ),
    )


def test_the_estimate_of_a_scan_is_already_that_of_the_projection_over_it() -> None:
    # 5,715 bytes of sales at 44 + 8 bytes a row; only `shop` goes on, 8 + 8, though `amount` is filtered by.
    (join,) = joins_of("frame")
    assert (join.left.estimated_bytes, join.left.rows) == (5_715 * 16 // 52, 375)


def test_without_a_target_no_hint_can_name_it() -> None:
    assert (only(RAN).left.target, only(RAN).right.target) == ("", "")


def test_a_join_that_is_not_in_the_initial_plan_counts_as_planned_the_way_it_ran() -> None:
    found = only(RAN, planned=PLANNED.replace("table shops", "table visits"))
    assert (found.planned_strategy, found.left.estimated_bytes) == ("BroadcastHashJoin", None)


def test_two_joins_on_the_same_keys_are_told_apart_by_their_tables() -> None:
    def both(first: str, second: str, *tables: str) -> str:
        lines = [
            f"  {kind} | {kind} [k#0], [k#1], Inner\n    Scan parquet | table sales\n    Scan parquet | table {table}"
            for kind, table in zip((first, second), tables, strict=True)
        ]
        return "Union\n" + "\n".join(lines)

    planned = both("SortMergeJoin", "BroadcastHashJoin", "shops", "visits")
    ran = both("BroadcastHashJoin", "BroadcastHashJoin", "visits", "shops")
    found = joins(tree(ran), tree(planned, "initial"), {})
    assert [j.planned_strategy for j in found] == ["BroadcastHashJoin", "SortMergeJoin"]


@pytest.mark.parametrize(
    ("between", "shuffled"),
    [
        ("Exchange | shuffle 8", True),
        ("Exchange | Exchange hashpartitioning(a#0, 8), REPARTITION_BY_COL", False),
        ("HashAggregate\n      Exchange | shuffle 8", False),  # was put in for the aggregation
        ("Filter", False),
    ],
)
def test_an_input_is_shuffled_if_spark_put_a_shuffle_in_for_this_join(between: str, shuffled: bool) -> None:
    ran = f"SortMergeJoin\n  Sort\n    {between}\n          Scan parquet | table sales\n  Scan parquet | table shops"
    assert (only(ran).left.shuffled, only(ran).right.shuffled) == (shuffled, False)


def test_a_reused_exchange_has_the_rows_the_width_and_the_tables_of_the_original() -> None:
    join = joins_of("cte_twice")[0]
    assert (join.left.rows, join.right.rows) == (17, 17)
    assert (join.left.bytes, join.right.bytes) == (17 * (16 + 8), 17 * (16 + 8))
    assert (join.left.tables, join.right.tables) == (("sales",), ("sales",))
    assert (join.left.aggregated, join.right.aggregated) == (True, True)


def test_tables_of_sub_queries_are_not_tables_of_an_input() -> None:
    ran = """
BroadcastHashJoin | BroadcastHashJoin [a#0], [b#1], Inner, BuildRight
  Scan parquet | table visits
    SubqueryBroadcast
      ReusedExchange | | reuses=4
  BroadcastExchange
    Scan parquet | table shops
"""
    assert [side.tables for side in (only(ran).left, only(ran).right)] == [("visits",), ("shops",)]


def test_tables_are_sorted_and_each_is_there_once() -> None:
    ran = """
SortMergeJoin | SortMergeJoin [a#0], [b#1], Inner
  Union
    Scan parquet | table visits
    Scan parquet | table sales
    Scan parquet | table visits
  Scan parquet | table shops
"""
    assert only(ran).left.tables == ("sales", "visits")


def test_rows_and_bytes_nobody_counted_are_unknown() -> None:
    found = only("SortMergeJoin\n  Generate\n    Scan parquet | table sales | rows=5 width=8\n  LocalTableScan")
    assert (found.left.rows, found.left.bytes, found.rows) == (None, None, None)


def test_what_was_joined_when_a_table_was_cached_is_no_join_of_this_run() -> None:
    ran = "Scan In-memory table few\n  SortMergeJoin\n    LocalTableScan\n    LocalTableScan"
    assert joins(tree(ran), tree(ran, "initial"), {}) == ()


# Recorded runs


def joins_of(name: str) -> tuple[Join, ...]:
    run = recorded_run(name)
    return joins(Tree(run.final), Tree(run.initial), {})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("switched", ["SortMergeJoin > BroadcastHashJoin Inner builds right: sales 400 shuffled, shops 17 shuffled"]),
        (
            "three",
            [
                "SortMergeJoin > SortMergeJoin Inner builds None: sales+shops 145, visits 400 shuffled",
                "SortMergeJoin > SortMergeJoin Inner builds None: sales 400 shuffled, shops 17 shuffled",
            ],
        ),
        ("grouped", ["SortMergeJoin > SortMergeJoin Inner builds None: sales 17 grouped, visits 400 shuffled"]),
        (
            "unequal",
            ["BroadcastNestedLoopJoin > BroadcastNestedLoopJoin LeftOuter builds right: sales 400, shops 17"],
        ),
        ("pruned", ["BroadcastHashJoin > BroadcastHashJoin Inner builds right: visits 67, shops 4"]),
    ],
)
def test_the_joins_of_a_recorded_run(name: str, expected: list[str]) -> None:
    assert [described(join) for join in joins_of(name)] == expected


def described(join: Join) -> str:
    sides = ", ".join(
        f"{'+'.join(s.tables)} {s.rows}{' grouped' * s.aggregated}{' shuffled' * s.shuffled}"
        for s in (join.left, join.right)
    )
    return f"{join.planned_strategy} > {join.strategy} {join.kind} builds {join.build}: {sides}"


# Text


@pytest.mark.parametrize(
    ("text", "left", "right", "kind", "build"),
    [
        ("SortMergeJoin [a#0], [b#1], LeftOuter, (x#2 > y#3)", ("a#0",), ("b#1",), "LeftOuter", None),
        ("SortMergeJoin(skew=true) [a#0], [b#1], Inner", ("a#0",), ("b#1",), "Inner", None),
        ("ShuffledHashJoin [a#0[0]], [f(b, 2)], LeftSemi, BuildLeft", ("a#0[0]",), ("f(b, 2)",), "LeftSemi", "left"),
        ("BroadcastHashJoin [Inner], [b], ExistenceJoin(e), BuildRight", ("Inner",), ("b",), "ExistenceJoin", "right"),
        ("BroadcastNestedLoopJoin BuildLeft, RightOuter, (a#0 > b#1)", (), (), "RightOuter", "left"),
        ("SortMergeJoin [a#0, [b#1]", (), (), "Inner", None),  # a literal with a bracket: better nothing than a guess
    ],
)
def test_a_join_says_its_keys_type_and_build_side(text: str, left: Any, right: Any, kind: str, build: Any) -> None:
    found = join_text(text)
    assert (found.left_keys, found.right_keys, found.kind, found.build) == (left, right, kind, build)


@pytest.mark.parametrize(
    ("kind", "is_one"),
    [
        ("SortMergeJoin", True),
        ("SortMergeJoin(skew=true)", True),
        ("CartesianProduct", True),
        ("BroadcastExchange", False),
        ("Project", False),
    ],
)
def test_which_operators_join(kind: str, is_one: bool) -> None:
    assert is_join_kind(kind) is is_one


@pytest.mark.parametrize(("keys", "count"), [("", 0), ("a#0", 1), ("a#0, cast(b#1 as decimal(3,2)), c#2[1]", 3)])
def test_keys_of_an_aggregation_are_counted(keys: str, count: int) -> None:
    assert key_count(f"HashAggregate(keys=[{keys}], functions=[sum(x#9)])") == count


# An input that a rewrite can group first


def grouped(kind: str = "LeftOuter", *, left: str = "shops", right: str = "sales", **text: Any) -> list[str]:
    """The inputs that are marked, where a text groups `sales` before its join with `shops`."""
    plan = f"""
SortMergeJoin | SortMergeJoin [a#0], [b#1], {kind}
  Scan parquet | table {left}
  Scan parquet | table {right}
"""
    meant = Groupable(**{"table": "sales", "other": "shops", "is_left": True, **text})
    found = joins(tree(plan), tree(plan, "initial"), {}, meant)
    return [side for join in found for side in ("left", "right") if getattr(join, side).groupable]


def test_the_input_that_a_text_can_group_first_is_marked() -> None:
    assert grouped() == ["right"]
    assert grouped("Inner") == ["right"]  # Spark needs no outer join where WHERE keeps no row without a match
    assert grouped("Inner", left="sales", right="shops", is_left=False) == ["left"]


@pytest.mark.parametrize(
    ("kind", "plan", "text"),
    [
        ("RightOuter", {}, {}),
        ("LeftOuter", {}, {"is_left": False}),
        ("Inner", {"left": "sales", "right": "shops"}, {}),
        ("LeftOuter", {"right": "visits"}, {}),
        ("Inner", {"left": "sales", "right": "sales"}, {"other": "sales", "is_left": False}),
    ],
    ids=["another kind", "outer where the text is inner", "the other side", "another table", "either side"],
)
def test_a_join_that_may_be_another_one_is_not_marked(kind: str, plan: dict[str, str], text: dict[str, Any]) -> None:
    assert grouped(kind, **plan, **text) == []


def test_of_two_such_joins_none_is_marked_nor_an_input_that_is_grouped_already() -> None:
    one = "  SortMergeJoin | SortMergeJoin [a#0], [b#1], Inner\n    Scan parquet | table shops\n    "
    two = "Union\n" + 2 * (one + "Scan parquet | table sales\n")
    already = "Union\n" + one + "HashAggregate | HashAggregate(keys=[b#1])\n      Scan parquet | table sales\n"
    for plan in (two, already):
        found = joins(tree(plan), tree(plan, "initial"), {}, Groupable("sales", "shops", is_left=False))
        assert found
        assert not any(j.left.groupable or j.right.groupable for j in found)
