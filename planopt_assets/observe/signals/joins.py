"""The joins of an executed plan: estimated and actual size of each input."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from planopt_assets.model.plan import PlanNode
from planopt_assets.model.signals import OTHER, SIDES, Join, JoinInput, SideName
from planopt_assets.observe.plans.estimates import ROW_HEADER
from planopt_assets.observe.signals.aggregations import is_aggregate
from planopt_assets.observe.signals.join_text import is_join, join_text
from planopt_assets.observe.signals.shuffles import BY_SPARK
from planopt_assets.observe.signals.tree import CACHED, Tree

Targets = Mapping[int, tuple[str, str]]  # node -> hint names of its left and its right input

_ID = re.compile(r"#\d+L?")
_MOVED = ("Sort", "AQEShuffleRead", "Project", "BroadcastExchange", "ReusedExchange", "ColumnarToRow")
_NOT_ESTIMATED = (*_MOVED, "Exchange")


@dataclass(frozen=True, slots=True)
class Groupable:
    """The join of a text whose one input may be grouped first: its table, and that of the other input."""

    table: str
    other: str
    is_left: bool  # a LEFT JOIN, with this input on the right


def joins(final: Tree, initial: Tree, targets: Targets, groupable: Groupable | None = None) -> tuple[Join, ...]:
    """Every join that ran, in plan order, matched with its join in the initial plan.

    Adaptive execution changes neither the inputs nor the keys of a join. So joins are matched by type, pairs of keys
    (without expression ids, in any order) and the tables below each input. Joins that are equal in all of this are
    matched in plan order. A join without a match counts as planned the way it ran.
    """
    planned: dict[object, list[PlanNode]] = {}
    for node in _joins(initial):
        planned.setdefault(_signature(initial, node), []).append(node)
    found = []
    for node in _joins(final):
        same = planned.get(_signature(final, node), [])
        found.append(_join(final, node, initial, same.pop(0) if same else None, targets.get(node.index, ("", ""))))
    return _with_groupable(found, groupable)


def _with_groupable(found: Sequence[Join], groupable: Groupable | None) -> tuple[Join, ...]:
    """The joins, with the groupable input marked; with none where several inputs could be the one that is meant."""
    places = [
        (number, side)
        for number, join in enumerate(found)
        for side in SIDES
        if groupable is not None and _is_meant(join, side, groupable)
    ]
    if len(places) != 1:
        return tuple(found)
    ((number, side),) = places
    join, marked = found[number], replace(found[number].side(side), groupable=True)
    join = replace(join, left=marked) if side == "left" else replace(join, right=marked)
    return (*found[:number], join, *found[number + 1 :])


def _is_meant(join: Join, side: SideName, groupable: Groupable) -> bool:
    """Spark plans a LEFT JOIN as an inner one where WHERE keeps no row without a match."""
    own, other = join.side(side), join.side(OTHER[side])
    kinds = ("Inner", "LeftOuter") if groupable.is_left and side == "right" else ("Inner",)
    tables = (own.tables, other.tables) == ((groupable.table,), (groupable.other,))
    return tables and join.kind in kinds and not own.aggregated and not (groupable.is_left and side == "left")


def _joins(tree: Tree) -> Iterator[PlanNode]:
    cached = {n.index for scan in tree.plan.nodes if scan.kind.startswith(CACHED) for n in tree.below(scan)}
    return (n for n in tree.plan.nodes if is_join(n) and n.index not in cached and len(tree.inputs(n)) == 2)


def _signature(tree: Tree, node: PlanNode) -> object:
    text = join_text(_ID.sub("", node.detail))
    keys = tuple(sorted(zip(text.left_keys, text.right_keys, strict=False)))
    return text.kind, keys, *(tree.tables(side) for side in tree.inputs(node))


def _join(final: Tree, node: PlanNode, initial: Tree, before: PlanNode | None, targets: tuple[str, str]) -> Join:
    text = join_text(node.detail)
    strategy = _strategy(node)
    planned = initial.inputs(before) if before is not None else [None, None]
    left, right = (
        _input(final, side, initial, first, target)
        for side, first, target in zip(final.inputs(node), planned, targets, strict=True)
    )
    return Join(
        node.index,
        text.kind,
        _strategy(before) if before is not None else strategy,
        strategy,
        text.build,
        left,
        right,
        final.rows(node),
    )


def _strategy(node: PlanNode) -> str:
    """The strategy without the mark of a skewed join: `SortMergeJoin(skew=true)`."""
    return node.kind.partition("(")[0]


def _input(final: Tree, side: PlanNode, initial: Tree, before: PlanNode | None, target: str) -> JoinInput:
    rows, width = final.rows(side), final.row_bytes(side)
    return JoinInput(
        rows=rows,
        bytes=rows * (width + ROW_HEADER) if rows is not None and width is not None else None,
        estimated_bytes=_estimated(initial, before) if before is not None else None,
        shuffled=any(n.kind == "Exchange" and BY_SPARK in n.detail for n in final.chain(side, *_MOVED)),
        tables=final.tables(side),
        aggregated=any(is_aggregate(n) for n in final.below(side)),
        target=target,
    )


def _estimated(initial: Tree, side: PlanNode) -> int | None:
    """The planner's estimate, rescaled to the row width of the join's input.

    Exchanges, sorts and projections have no own estimate. The operator below has one, for rows that may be wider:
    1,000 bytes there, at 42 + 8 bytes a row, are 400 bytes for an input of 12 + 8 bytes a row. A scan is an exception:
    it is planned together with the filter and projection above it, and all have the estimate of the projection.
    """
    *_, origin = initial.chain(side, *_NOT_ESTIMATED)
    *_, source = initial.chain(origin, "Filter", "ColumnarToRow")
    size, width, own = origin.estimate.bytes, initial.row_bytes(side), origin.row_bytes
    if size is None or width is None or own is None or source.kind.startswith("Scan"):
        return size
    return size * (width + ROW_HEADER) // (own + ROW_HEADER)
