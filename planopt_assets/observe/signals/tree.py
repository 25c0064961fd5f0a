"""An executed plan as a tree: what runs below an operator, without sub-queries and with reused results."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from planopt_assets.model.plan import Plan, PlanNode
from planopt_assets.observe.plans.fingerprint import scanned_table
from planopt_assets.observe.plans.metrics import actual_rows

# Operators that pass every row on.
_HAND_ON = (
    "Project",
    "Sort",
    "Exchange",
    "BroadcastExchange",
    "ReusedExchange",
    "AQEShuffleRead",
    "ColumnarToRow",
    "RowToColumnar",
    "Window",
    "BatchEvalPython",
    "ArrowEvalPython",
)
CACHED = "Scan In-memory table"
"""Operators below it ran when the table was cached, not in this execution."""


class Tree:
    """One plan. Below a reused exchange are the operators of the original."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @cached_property
    def _children(self) -> dict[int, list[PlanNode]]:
        found: dict[int, list[PlanNode]] = {}
        for node in self.plan.nodes:
            found.setdefault(node.parent, []).append(node)
        return found

    def inputs(self, node: PlanNode) -> list[PlanNode]:
        """The operators that feed it rows, left before right. Sub-queries give values, not rows."""
        if node.reuses is not None:
            return [self.plan.nodes[node.reuses]]
        return [c for c in self._children.get(node.index, []) if not is_subquery(c)]

    def subqueries(self, node: PlanNode) -> list[PlanNode]:
        return [c for c in self._children.get(node.index, []) if is_subquery(c)]

    def below(self, node: PlanNode) -> Iterator[PlanNode]:
        """The operator and all operators that its rows come from."""
        stack = [node]
        while stack:
            here = stack.pop()
            yield here
            stack.extend(reversed(self.inputs(here)))

    def chain(self, node: PlanNode, *kinds: str) -> Iterator[PlanNode]:
        """The operator and those below it, down to the first that is not of these kinds (included)."""
        yield node
        while node.kind in kinds and (inputs := self.inputs(node)):
            node = inputs[0]
            yield node

    def rows(self, node: PlanNode) -> int | None:
        """Its output rows. If it has no counter, the rows of its input that it passes on; a union passes on all."""
        for one in self.chain(node, *_HAND_ON):
            if (rows := actual_rows(one)) is not None:
                return rows
            if one.kind == "Union":
                known = [rows for i in self.inputs(one) if (rows := self.rows(i)) is not None]
                return sum(known) if len(known) == len(self.inputs(one)) else None
        return None

    def rows_in(self, node: PlanNode) -> int | None:
        inputs = self.inputs(node)
        return self.rows(inputs[0]) if inputs else None

    def row_bytes(self, node: PlanNode) -> int | None:
        """The planner's row width. Projections have no own value, so the operator below is used."""
        return next((n.row_bytes for n in self.chain(node, *_HAND_ON) if n.row_bytes is not None), None)

    def tables(self, node: PlanNode) -> tuple[str, ...]:
        """Registered tables that its rows come from, sorted, each once."""
        return tuple(sorted({t for n in self.below(node) if (t := scanned_table(n)) is not None}))

    def above(self, node: PlanNode, *through: str) -> PlanNode | None:
        """The next operator above that is not of these kinds."""
        parent = node.parent
        while parent >= 0 and self.plan.nodes[parent].kind in through:
            parent = self.plan.nodes[parent].parent
        return self.plan.nodes[parent] if parent >= 0 else None


def is_subquery(node: PlanNode) -> bool:
    return node.kind.startswith(("Subquery", "ReusedSubquery"))
