"""From Spark's JSON of a logical plan to one that is equal whenever the analyzer or optimizer did the same thing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from planopt_assets.observe.normalise import DIGEST_NAME

Json = Any

_RANDOM = re.compile(r"\.(Rand|Randn|RandStr|Uniform|Uuid|Shuffle|Sample)$")
_DRAWN = re.compile(r"-?\d{12,}")  # a seed that Spark drew; one in the query is shorter
_COUNTED = ("cteId", "outerPlanId", "planId", "loopId")  # ids that Spark counts up for as long as it runs
_VOLATILE = ("jvmId", "createTime", "lastAccessTime")  # of the process, and of the views that planopt registers
_CTE = ("CTERelationDef", "CTERelationRef", "UnionLoop", "UnionLoopRef")


def normalise_logical(nodes: Sequence[Mapping[str, Json]], tables: Mapping[str, str]) -> list[Json]:
    """The nodes in pre-order, with ids numbered by first appearance and nothing that names a JVM, a path or a seed.

    `tables` maps a location to the registered name.
    """
    return _Normaliser(tables).nodes(_without_digest(nodes))


def _without_digest(nodes: Sequence[Mapping[str, Json]]) -> Sequence[Mapping[str, Json]]:
    """planopt's own metrics node on top of a measured query is not part of it."""
    measured = nodes and nodes[0]["class"].endswith(".CollectMetrics") and nodes[0].get("name") == DIGEST_NAME
    return nodes[1:] if measured else nodes


class _Normaliser:
    def __init__(self, tables: Mapping[str, str]) -> None:
        self._tables = tables
        self._ids: dict[tuple[str, Json], int] = {}

    def nodes(self, nodes: Sequence[Mapping[str, Json]]) -> list[Json]:
        found = []
        random = False
        for node in nodes:
            found.append(self._node(node, under_random=random))
            random = _RANDOM.search(str(node.get("class", ""))) is not None
        return found

    def _node(self, node: Mapping[str, Json], *, under_random: bool) -> Json:
        name = str(node.get("class", "")).rsplit(".", 1)[-1]
        if under_random and name == "Literal" and _DRAWN.fullmatch(str(node.get("value"))):
            return {**self._value(node), "value": "seed"}
        plain = self._value(node)
        if name == "Sample" and _DRAWN.fullmatch(str(node.get("seed"))):
            plain["seed"] = "seed"
        if name.startswith(_CTE) and "id" in node:
            plain["id"] = self._number("cteId", node["id"])
        return plain

    def _value(self, value: Json) -> Json:
        if isinstance(value, Mapping):
            if str(value.get("product-class", "")).endswith(".ExprId"):
                return {"product-class": value["product-class"], "id": self._number("expression", value["id"])}
            return {
                key: self._number(key, item) if key in _COUNTED else self._value(item)
                for key, item in sorted(value.items())
                if key not in _VOLATILE
            }
        if isinstance(value, list):
            is_tree = bool(value) and all(isinstance(v, Mapping) and "class" in v for v in value)
            return self.nodes(value) if is_tree else [self._value(v) for v in value]
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        for location, table in self._tables.items():
            text = text.replace(f"file:{location}", table).replace(location, table)
        return text

    def _number(self, kind: str, value: Json) -> int:
        return self._ids.setdefault((kind, value), len(self._ids))
