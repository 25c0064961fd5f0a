"""Normalises Spark's JSON of a logical plan: equal if the analyzer or optimizer did the same."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from planopt_assets.observe.plans.normalise import DIGEST_NAME

Json = Any

_RANDOM = re.compile(r"\.(Rand|Randn|RandStr|Uniform|Uuid|Shuffle|Sample)$")
_SEEDS = ("seed", "randomSeed")
_DRAWN = re.compile(r"-?\d{12,}")  # a seed that Spark drew; a seed in the query is shorter
# Ids that Spark increments while it runs. A recursive CTE keeps its id when it becomes a loop.
_COUNTED = {"cteId": "cte", "loopId": "cte", "outerPlanId": "outer plan", "planId": "plan"}
_VOLATILE = ("jvmId", "createTime", "lastAccessTime")  # of the process, and of the views that planopt registers
_CTE = ("CTERelationDef", "CTERelationRef", "UnionLoop", "UnionLoopRef")


def normalise_logical(nodes: Sequence[Mapping[str, Json]], tables: Mapping[str, str]) -> list[Json]:
    """The nodes in pre-order, with ids numbered by first appearance and without JVM ids, paths and seeds.

    `tables` maps a location to the registered name.
    """
    return _Normaliser(tables).nodes(_without_digest(nodes))


def _without_digest(nodes: Sequence[Mapping[str, Json]]) -> Sequence[Mapping[str, Json]]:
    """Remove planopt's metrics node on top of a measured query."""
    measured = nodes and nodes[0]["class"].endswith(".CollectMetrics") and nodes[0].get("name") == DIGEST_NAME
    return nodes[1:] if measured else nodes


class _Normaliser:
    def __init__(self, tables: Mapping[str, str]) -> None:
        # The longest first: one location may be a prefix of another.
        self._places = [
            (re.compile(rf"(?:file:(?://)?)?(?<![\w.-]){re.escape(location)}(?![\w-])"), table)
            for location, table in sorted(tables.items(), key=lambda t: (-len(t[0]), t[0]))
        ]
        self._ids: dict[tuple[str, Json], int] = {}

    def nodes(self, nodes: Sequence[Mapping[str, Json]]) -> list[Json]:
        found = []
        above: list[tuple[int, bool]] = []  # of each node above: children still to come, whether it draws numbers
        for node in nodes:
            children, draws = above.pop() if above else (0, False)
            found.append(self._node(node, is_seed=draws and children == 1))
            if children > 1:
                above.append((children - 1, draws))
            if below := int(node.get("num-children", 0)):
                above.append((below, _RANDOM.search(str(node.get("class", ""))) is not None))
        return found

    def _node(self, node: Mapping[str, Json], *, is_seed: bool) -> Json:
        """One node. A random function has its seed in a field or as its last argument."""
        name = str(node.get("class", ""))
        plain = self._value(node)
        for field in _SEEDS if _RANDOM.search(name) else ("value",) if is_seed else ():
            if _DRAWN.fullmatch(str(node.get(field))):
                plain[field] = "seed"
        if name.rsplit(".", 1)[-1] in _CTE and "id" in node:
            plain["id"] = self._number("cte", node["id"])
        return plain

    def _value(self, value: Json) -> Json:
        if isinstance(value, Mapping):
            if str(value.get("product-class", "")).endswith(".ExprId"):
                return {"product-class": value["product-class"], "id": self._number("expression", value["id"])}
            return {
                key: self._number(_COUNTED[key], item) if key in _COUNTED else self._value(item)
                for key, item in sorted(value.items())
                if key not in _VOLATILE
            }
        if isinstance(value, list):
            is_tree = bool(value) and all(isinstance(v, Mapping) and "class" in v for v in value)
            return self.nodes(value) if is_tree else [self._value(v) for v in value]
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        for place, table in self._places:
            text = place.sub(table, text)
        return text

    def _number(self, kind: str, value: Json) -> int:
        return self._ids.setdefault((kind, value), len(self._ids))
