"""Groupings done in two steps, and how much the first step left for the second; and what did not fit into memory."""

from __future__ import annotations

from planopt_assets.model.plan import PlanNode
from planopt_assets.model.signals import Aggregation, Spill
from planopt_assets.observe.plans.metrics import SORT_FALLBACKS, SPILL, actual_rows
from planopt_assets.observe.signals.join_text import key_count
from planopt_assets.observe.signals.tree import Tree

_STEPS = ("HashAggregate", "ObjectHashAggregate", "SortAggregate")
_BETWEEN = ("Exchange", "ReusedExchange", "AQEShuffleRead", "Sort")


def is_aggregate(node: PlanNode) -> bool:
    return node.kind in _STEPS


def aggregations(tree: Tree) -> tuple[Aggregation, ...]:
    """Each pair of a step and the one it merges: the same keys, with at most a shuffle and a sort between them.

    A `count(DISTINCT …)` has two such pairs, one by the keys and the counted column, one by the keys alone.
    """
    found: dict[int, Aggregation] = {}
    for final in filter(is_aggregate, tree.plan.nodes):
        partial = _merged(tree, final)
        if partial is not None:  # a step that two others merge, through a reused exchange, is one aggregation
            found.setdefault(
                partial.index,
                Aggregation(
                    partial.index,
                    rows_in=tree.rows_in(partial),
                    rows_partial=actual_rows(partial),
                    groups=actual_rows(final),
                    keys=key_count(partial.detail),
                    sorted_tasks=_sorted_tasks(partial),
                ),
            )
    return tuple(found[index] for index in sorted(found))


def _sorted_tasks(step: PlanNode) -> int | None:
    """A hash aggregation counts the same, but falls back only where memory ends: no setting of groups changes that."""
    return step.metric(SORT_FALLBACKS) if step.kind == "ObjectHashAggregate" else None


def _merged(tree: Tree, final: PlanNode) -> PlanNode | None:
    inputs = tree.inputs(final)
    if not inputs:
        return None
    *_, last = tree.chain(inputs[0], *_BETWEEN)
    same = is_aggregate(last) and key_count(last.detail) == key_count(final.detail)
    return last if same else None


def spills(tree: Tree) -> tuple[Spill, ...]:
    """Operators that wrote to disk what they could not hold."""
    return tuple(
        Spill(node.index, node.kind, size) for node in tree.plan.nodes if (size := node.metric(SPILL) or 0) > 0
    )
