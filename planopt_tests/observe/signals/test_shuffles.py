"""Shuffles that may be resized: which ones, and what is known of each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planopt_assets.model.plan import Plan
from planopt_assets.model.signals import Exchange
from planopt_assets.observe.plans.metrics import SHUFFLE_BYTES
from planopt_assets.observe.signals.shuffles import resizable_exchanges
from planopt_assets.observe.signals.tree import Tree
from planopt_tests.observe.captured import Info, captured, plan_of
from planopt_tests.observe.signals.plans import tree

pytestmark = pytest.mark.fast


def accumulators(info: Info, name: str) -> list[int]:
    """Accumulators of one metric, in plan order."""
    own = [m["accumulatorId"] for m in info["metrics"] if m["name"] == name]
    return own + [i for child in info["children"] for i in accumulators(child, name)]


def only(outline: str) -> Exchange:
    (exchange,) = resizable_exchanges(tree(outline))
    return exchange


def test_the_shuffles_of_an_executed_plan_have_their_partitions_and_bytes() -> None:
    final = captured("final")
    values = dict(zip(accumulators(final, SHUFFLE_BYTES), (100, 2_000, 30_000), strict=True))
    assert resizable_exchanges(Tree(plan_of(final, "final", values))) == (
        Exchange(node=2, partitions=200, bytes_written=100),
        Exchange(node=7, partitions=200, bytes_written=2_000),
        Exchange(node=10, partitions=200, bytes_written=30_000),
    )


def test_a_broadcast_is_no_shuffle_to_resize() -> None:
    plan = plan_of(captured("final"))
    assert len([n for n in plan.nodes if n.kind == "BroadcastExchange"]) == 3
    assert {plan.nodes[x.node].kind for x in resizable_exchanges(Tree(plan))} == {"Exchange"}


@pytest.mark.parametrize(
    "detail",
    ["Exchange RoundRobinPartitioning(8), REPARTITION_BY_NUM", "Exchange SinglePartition, ENSURE_REQUIREMENTS"],
)
def test_what_the_author_asked_for_and_a_single_partition_are_not_resized(detail: str) -> None:
    assert resizable_exchanges(tree(f"Exchange | {detail} | bytes=1")) == ()


def test_a_shuffle_that_wrote_nothing_wrote_zero_bytes() -> None:
    assert only("Exchange | shuffle 8").bytes_written == 0


def test_how_evenly_the_bytes_fell_is_kept() -> None:
    plan = tree("Sort\n  Exchange | shuffle 8 | wrote=30 bytes=90").plan
    nodes = (plan.nodes[0], replace(plan.nodes[1], partition_bytes=(1, 10, 50)))
    (exchange,) = resizable_exchanges(Tree(Plan("final", nodes, "x")))
    assert exchange == Exchange(1, 8, 90, 30, 1, 10, 50, read_partitions=8, feeds_join=False)


def test_partitions_are_read_as_adaptive_execution_put_them_together() -> None:
    assert only("Sort\n  AQEShuffleRead | | partitions=3\n    Exchange | shuffle 8").read_partitions == 3
    assert only("Sort\n  Exchange | shuffle 8").read_partitions == 8


def test_before_anything_ran_nobody_knows_what_will_be_read() -> None:
    (exchange,) = resizable_exchanges(tree("Sort\n  Exchange | shuffle 8", phase="initial"))
    assert exchange.read_partitions is None


@pytest.mark.parametrize(
    ("above", "feeds"),
    [
        ("SortMergeJoin\n  Sort\n    AQEShuffleRead\n      ", True),
        ("BroadcastHashJoin\n  BroadcastExchange\n    AQEShuffleRead\n      ", True),  # a join that was switched
        ("SortMergeJoin(skew=true)\n  Project\n    ", True),
        ("SortMergeJoin\n  HashAggregate\n    ", False),  # put in for the aggregation
        ("Sort\n  ", False),
        ("", False),
    ],
)
def test_a_shuffle_put_in_for_a_join_says_so(above: str, feeds: bool) -> None:
    assert only(f"{above}Exchange | shuffle 8").feeds_join is feeds
