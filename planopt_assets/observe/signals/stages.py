"""The stages of an executed plan, as a graph: what runs between two exchanges."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod

from planopt_assets.model.plan import PlanNode
from planopt_assets.model.signals import Scan, Stage
from planopt_assets.observe.plans.metrics import PARTITIONS, actual_rows
from planopt_assets.observe.signals.shuffles import planned_partitions
from planopt_assets.observe.signals.tree import CACHED, Tree

_EXCHANGES = ("Exchange", "BroadcastExchange")
_SUBQUERY = "Subquery"  # runs as its own plan; a `SubqueryBroadcast` only reads a broadcast
_COUNT = re.compile(r"^Coalesce (\d+)|splits=(?:Some\()?(\d+)")


def stages(tree: Tree, scans: Sequence[Scan]) -> tuple[Stage, ...]:
    """The plan cut at exchanges and sub-queries. A stage comes after the stages it reads.

    A reused exchange is written by one stage and read by several. Sub-queries and broadcasts add no tasks to the stage
    that reads them. Tasks are 0 if only the run knows them: a scan under dynamic pruning.
    """
    if not tree.plan.nodes:
        return ()
    graph = _Graph(tree, {s.node: s for s in scans})
    root = tree.plan.nodes[0]
    last = graph.add(root)
    if root.kind != "Exchange":
        return tuple(graph.done)
    # The query ends in a shuffle. The stage that reads it has no operator.
    partitions = planned_partitions(tree, root)
    return (*graph.done, Stage(last + 1, (last,), partitions, actual_rows(root) or 0, files=0, shuffle_partitions=0))


class _Graph:
    def __init__(self, tree: Tree, scans: Mapping[int, Scan]) -> None:
        self._tree, self._scans = tree, scans
        self._known: dict[int, int] = {}  # node that ends a stage -> stage
        self.done: list[Stage] = []

    def add(self, top: PlanNode) -> int:
        """Add the stage that ends in this operator, after all stages it reads."""
        if top.index not in self._known:
            nodes, read = self._members(top)
            feeds = tuple(sorted({self.add(node) for node in read}))
            index = self._known[top.index] = len(self.done)
            own = [self._scans[n.index] for n in nodes if n.index in self._scans]
            self.done.append(
                Stage(
                    index,
                    feeds,
                    tasks=self._tasks(top, nodes),
                    rows=sum(actual_rows(n) or 0 for n in (*nodes, *read) if self._brings_rows(n, top)),
                    files=sum(scan.files for scan in own),
                    shuffle_partitions=planned_partitions(self._tree, top) if top.kind == "Exchange" else 0,
                    nodes=tuple(n.index for n in nodes),
                )
            )
        return self._known[top.index]

    def _members(self, top: PlanNode) -> tuple[list[PlanNode], list[PlanNode]]:
        """The operators of a stage in plan order, and the last operators of the stages it reads."""
        nodes, read, stack = [], [], [top]
        while stack:
            node = stack.pop()
            if node is not top and (node.kind in _EXCHANGES or node.kind == _SUBQUERY):
                read.append(node)
                continue
            nodes.append(node)
            inputs = [] if node.kind.startswith(CACHED) else self._tree.inputs(node)
            stack.extend([*reversed(self._tree.subqueries(node)), *reversed(inputs)])
        return sorted(nodes, key=lambda n: n.index), read

    @staticmethod
    def _brings_rows(node: PlanNode, top: PlanNode) -> bool:
        return node is not top and (node.kind.startswith("Scan") or node.kind == "Exchange")

    def _tasks(self, top: PlanNode, nodes: Sequence[PlanNode]) -> int:
        """Tasks from the leaves up. An operator has the tasks of its inputs; a union has their sum."""
        tasks: dict[int, int] = {}
        for node in reversed(nodes):  # a parent comes before its children
            inputs = [] if node.kind.startswith(CACHED) else self._tree.inputs(node)
            below = [tasks.get(i.index, self._read(i)) for i in inputs]
            tasks[node.index] = self._of_operator(node, below)
        return tasks[top.index]

    def _read(self, node: PlanNode) -> int:
        """Tasks needed to read another stage, as planned. A broadcast needs none: every task has it."""
        return planned_partitions(self._tree, node) if node.kind == "Exchange" else 0

    def _of_operator(self, node: PlanNode, below: Sequence[int]) -> int:
        if (scan := self._scans.get(node.index)) is not None:
            return scan.splits
        if node.kind == "AQEShuffleRead":
            return node.metric(PARTITIONS) or max(below, default=0)
        if node.kind == "Union":
            return sum(below)
        if node.kind == "CartesianProduct":
            return prod(below)
        if found := _COUNT.search(node.detail) if node.kind in ("Coalesce", "Range") else None:
            return int(found[1] or found[2])
        if not below:
            return 0 if node.kind.startswith("Scan") else 1
        return max(below)
