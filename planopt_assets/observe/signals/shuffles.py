"""Shuffles that may be resized: partitions planned and read, and how evenly the bytes are distributed."""

from __future__ import annotations

from planopt_assets.model.plan import PlanNode
from planopt_assets.model.signals import Exchange
from planopt_assets.observe.plans.fingerprint import partition_count
from planopt_assets.observe.plans.metrics import PARTITIONS, SHUFFLE_BYTES, actual_rows
from planopt_assets.observe.signals.join_text import is_join
from planopt_assets.observe.signals.tree import Tree

BY_SPARK = "ENSURE_REQUIREMENTS"
_ON_THE_WAY = ("Sort", "AQEShuffleRead", "Project", "BroadcastExchange")


def resizable_exchanges(tree: Tree) -> tuple[Exchange, ...]:
    """Shuffles that Spark added. A `repartition(n)` in the query is the author's choice and is not touched."""
    return tuple(
        _exchange(tree, node, count)
        for node in tree.plan.nodes
        if (count := partition_count(node)) is not None and BY_SPARK in node.detail
    )


def _exchange(tree: Tree, node: PlanNode, count: int) -> Exchange:
    smallest, median, largest = node.partition_bytes or (None, None, None)
    above = tree.above(node, *_ON_THE_WAY)
    return Exchange(
        node.index,
        count,
        node.metric(SHUFFLE_BYTES) or 0,
        rows=actual_rows(node),
        smallest_bytes=smallest,
        median_bytes=median,
        largest_bytes=largest,
        read_partitions=read_partitions(tree, node),
        feeds_join=above is not None and is_join(above),
    )


def read_partitions(tree: Tree, node: PlanNode) -> int | None:
    """Partitions in which a shuffle was read: after coalescing, or as planned. None for a plan that did not run."""
    parent = tree.plan.nodes[node.parent] if node.parent >= 0 else None
    if parent is not None and parent.kind == "AQEShuffleRead":
        return parent.metric(PARTITIONS)
    return None if tree.plan.phase == "initial" else planned_partitions(tree, node)


def planned_partitions(tree: Tree, node: PlanNode) -> int:
    """
    >>> from planopt_assets.model.plan import Plan
    >>> planned_partitions(Tree(Plan("final", (), "")), PlanNode(0, -1, "Exchange", "Exchange SinglePartition"))
    1
    """
    original = tree.plan.nodes[node.reuses] if node.reuses is not None else node
    return partition_count(original) or 1
