"""Aggregations in two steps, with the rows that the first step left; and operators that spilled."""

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
    """Each final step with its partial step: the same keys, with at most a shuffle and a sort between them.

    A `count(DISTINCT …)` has two such pairs: one by the keys and the counted column, one by the keys alone.
    """
    found: dict[int, Aggregation] = {}
    for final in filter(is_aggregate, tree.plan.nodes):
        partial = _merged(tree, final)
        if partial is not None:  # a partial step with two final steps (reused exchange) is one aggregation
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
    """Only object aggregations. A hash aggregation falls back when memory ends, which no group limit changes."""
    return step.metric(SORT_FALLBACKS) if step.kind == "ObjectHashAggregate" else None


def _merged(tree: Tree, final: PlanNode) -> PlanNode | None:
    inputs = tree.inputs(final)
    if not inputs:
        return None
    *_, last = tree.chain(inputs[0], *_BETWEEN)
    same = is_aggregate(last) and key_count(last.detail) == key_count(final.detail)
    return last if same else None


def spills(tree: Tree) -> tuple[Spill, ...]:
    """Operators that spilled to disk."""
    return tuple(
        Spill(node.index, node.kind, size) for node in tree.plan.nodes if (size := node.metric(SPILL) or 0) > 0
    )
