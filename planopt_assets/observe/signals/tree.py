"""An executed plan as a tree to walk: what runs below an operator, without sub-queries and with reused results."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from planopt_assets.model.plan import Plan, PlanNode
from planopt_assets.observe.plans.fingerprint import scanned_table
from planopt_assets.observe.plans.metrics import actual_rows

# Operators that hand on every row they get.
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
"""What is below it ran when the table was cached, not in this execution."""


class Tree:
    """One plan; a reused exchange has what it reads again below it."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @cached_property
    def _children(self) -> dict[int, list[PlanNode]]:
        found: dict[int, list[PlanNode]] = {}
        for node in self.plan.nodes:
            found.setdefault(node.parent, []).append(node)
        return found

    def inputs(self, node: PlanNode) -> list[PlanNode]:
        """The operators whose rows it gets, left before right; sub-queries give values, not rows."""
        if node.reuses is not None:
            return [self.plan.nodes[node.reuses]]
        return [c for c in self._children.get(node.index, []) if not is_subquery(c)]

    def subqueries(self, node: PlanNode) -> list[PlanNode]:
        return [c for c in self._children.get(node.index, []) if is_subquery(c)]

    def below(self, node: PlanNode) -> Iterator[PlanNode]:
        """The operator and all that its rows come from."""
        stack = [node]
        while stack:
            here = stack.pop()
            yield here
            stack.extend(reversed(self.inputs(here)))

    def chain(self, node: PlanNode, *kinds: str) -> Iterator[PlanNode]:
        """The operator and, while it is of these kinds, the one below it, and so on: the last one is another kind."""
        yield node
        while node.kind in kinds and (inputs := self.inputs(node)):
            node = inputs[0]
            yield node

    def rows(self, node: PlanNode) -> int | None:
        """Rows that came out of it; where it counts none itself, those it got and handed on."""
        return next((rows for n in self.chain(node, *_HAND_ON) if (rows := actual_rows(n)) is not None), None)

    def rows_in(self, node: PlanNode) -> int | None:
        inputs = self.inputs(node)
        return self.rows(inputs[0]) if inputs else None

    def row_bytes(self, node: PlanNode) -> int | None:
        """The planner's width of its rows; a projection is not asked for its own, so the one below it answers."""
        return next((n.row_bytes for n in self.chain(node, *_HAND_ON) if n.row_bytes is not None), None)

    def tables(self, node: PlanNode) -> tuple[str, ...]:
        """Registered tables its rows come from, sorted, each once."""
        return tuple(sorted({t for n in self.below(node) if (t := scanned_table(n)) is not None}))

    def above(self, node: PlanNode, *through: str) -> PlanNode | None:
        """The next operator above that is of none of these kinds."""
        parent = node.parent
        while parent >= 0 and self.plan.nodes[parent].kind in through:
            parent = self.plan.nodes[parent].parent
        return self.plan.nodes[parent] if parent >= 0 else None


def is_subquery(node: PlanNode) -> bool:
    return node.kind.startswith(("Subquery", "ReusedSubquery"))
