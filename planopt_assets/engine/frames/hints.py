"""Puts join hints into the analysed plan of a query: for DataFrames, and where a text cannot carry them.

A hint is a node above the input it is for, exactly as `DataFrame.hint` or SQL would have made it; Spark's own optimizer
takes it from there. Joins are counted as in `model/hint.py`: depth first over the analysed plan, a join before its
inputs; plans inside expressions do not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from planopt_assets.errors import PolicyNotApplied

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame

    from planopt_assets.engine.jvm.bridge import Jvm
    from planopt_assets.model.hint import Hint

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
_STRATEGIES = {"broadcast": "BROADCAST", "shuffle_hash": "SHUFFLE_HASH", "merge": "SHUFFLE_MERGE"}
_FIRST_INPUT_CARRIES = frozenset({"Except", "Intersect"})  # Spark looks for hints in their first input

Place = tuple[int, str]  # number of a join, side


class JoinHints:
    """Reads and sets the hints of analysed plans."""

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm

    def carried(self, frame: DataFrame) -> dict[Place, tuple[str, ...]]:
        """The strategies each join input of a query asks for, in the order in which Spark heeds them."""
        plan: Any = frame._jdf.queryExecution().analyzed()
        tree = _Tree.of(self._jvm.tree(plan))
        found = {
            (number, side): tuple(self._strategy(_at(plan, tree.path(i))) for i in tree.hints_on(child))
            for number, join in enumerate(tree.joins)
            for side, child in zip(("left", "right"), tree.children[join], strict=True)
        }
        return {place: strategies for place, strategies in found.items() if strategies}

    def hinted(self, frame: DataFrame, hints: Sequence[Hint]) -> DataFrame:
        """The same query with these hints in its plan; what its author hinted stays as it is."""
        from pyspark.sql import DataFrame

        plan: Any = frame._jdf.queryExecution().analyzed()
        tree = _Tree.of(self._jvm.tree(plan))
        places = [(tree.path(tree.input_of(hint)), hint) for hint in hints]
        for path, hint in sorted(places, key=lambda place: -len(place[0])):  # a hint makes what is below it deeper
            plan = self._wrapped(plan, path, hint.strategy)
        # Its author's analysis stands: analysing it again could only give names and ids anew.
        plan.setAnalyzed()
        session: Any = frame.sparkSession
        return DataFrame(self._dataset.ofRows(session._jsparkSession, plan), session)

    @cached_property
    def _dataset(self) -> Any:
        return self._jvm.scala_object("org.apache.spark.sql.classic.Dataset")

    def _wrapped(self, plan: JavaObject, path: Sequence[int], strategy: str) -> Any:
        """The plan with a hint above the node at `path`; only the nodes on the way to it are made anew."""
        above = [plan]
        for index in path:
            above.append(above[-1].children().apply(index))
        logical = self._jvm.root.org.apache.spark.sql.catalyst.plans.logical
        option = self._jvm.root.scala.Option
        wanted = option.apply(self._jvm.scala_object(f"{_LOGICAL}{_STRATEGIES[strategy]}"))
        made = logical.ResolvedHint(above.pop(), logical.HintInfo(wanted))
        for index in reversed(path):
            parent = above.pop()
            made = parent.withNewChildren(parent.children().updated(index, made))
        return made

    @staticmethod
    def _strategy(hint: JavaObject) -> str:
        strategy: Any = hint.hints().strategy()
        return str(strategy.get().displayName()) if strategy.isDefined() else ""


def _at(plan: Any, path: Sequence[int]) -> Any:
    for index in path:
        plan = plan.children().apply(index)
    return plan


@dataclass(frozen=True, slots=True)
class _Tree:
    """A plan as Spark's JSON lists it: classes in pre-order, with what each node has below it."""

    kinds: tuple[str, ...]
    names: tuple[str, ...]  # of the node's alias, lower case, or empty
    parents: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(nodes: Sequence[dict[str, Any]]) -> _Tree:
        """
        >>> tree = _Tree.of([{"class": "x.Join", "num-children": 2}, *[{"class": "x.Range", "num-children": 0}] * 2])
        >>> tree.joins, tree.children[0]
        ([0], (1, 2))
        """
        parents: list[int] = []
        below: list[list[int]] = [[] for _ in nodes]
        open_nodes: list[int] = []
        for index in range(len(nodes)):
            while open_nodes and len(below[open_nodes[-1]]) == nodes[open_nodes[-1]]["num-children"]:
                open_nodes.pop()
            parents.append(open_nodes[-1] if open_nodes else -1)
            if open_nodes:
                below[open_nodes[-1]].append(index)
            open_nodes.append(index)
        return _Tree(
            tuple(node["class"].rpartition(".")[2] for node in nodes),
            tuple(_alias(node) for node in nodes),
            tuple(parents),
            tuple(tuple(each) for each in below),
        )

    @property
    def joins(self) -> list[int]:
        return [index for index, kind in enumerate(self.kinds) if kind == "Join"]

    def path(self, index: int) -> list[int]:
        """Which child to take, from the root down to a node."""
        steps: list[int] = []
        while (parent := self.parents[index]) >= 0:
            steps.append(self.children[parent].index(index))
            index = parent
        return steps[::-1]

    def chain(self, index: int) -> Iterator[int]:
        """A node, and what lies below it in one line: as far down as Spark looks for the hints of a join's input."""
        yield index
        while len(self.children[index]) == 1 or self.kinds[index] in _FIRST_INPUT_CARRIES:
            index = self.children[index][0]
            yield index

    def hints_on(self, index: int) -> list[int]:
        return [i for i in self.chain(index) if self.kinds[i] == "ResolvedHint"]

    def input_of(self, hint: Hint) -> int:
        """The node a hint is for; an error where the query has no such input, or its author has hinted it."""
        joins = self.joins
        if hint.join >= len(joins):
            raise _not_applied(hint, f"the query has {len(joins)} joins")
        left, right = self.children[joins[hint.join]]
        index = left if hint.side == "left" else right
        names = [name for i in self.chain(index) if (name := self.names[i])]
        if hint.alias and hint.alias.lower() not in names:
            called = f"is called {names[0]}" if names else "has no name"
            raise _not_applied(hint, f"that input {called}")
        if self.hints_on(index):
            raise _not_applied(hint, "the query itself has a hint there, which stays")
        return index


def _alias(node: dict[str, Any]) -> str:
    """What `observe/signals/targets.py` calls it: the name of an alias or of a view."""
    match node:
        case {"identifier": {"name": str(name)}} | {"desc": {"identifier": {"table": str(name)}}}:
            return name.lower()
    return ""


def _not_applied(hint: Hint, why: str) -> PolicyNotApplied:
    return PolicyNotApplied(f"hint not applied: {hint}: {why}", fix="decide again for the query as it is now")
