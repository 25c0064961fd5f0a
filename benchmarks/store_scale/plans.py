"""The plans of a generated query: physical trees as planopt keeps them, logical ones of the size Spark's have."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import orjson
import zstandard

from benchmarks.store_scale.queries import Spec
from benchmarks.store_scale.sources import FACT, Source
from planopt_assets.model.ids import content_id

Node = tuple[int, str, str]  # parent, kind, detail
_CATALYST = "org.apache.spark.sql.catalyst"
_EXPRESSIONS = ("Add", "Alias", "And", "Cast", "EqualTo", "GreaterThanOrEqual", "IsNotNull", "Multiply", "Subtract")


@dataclass(frozen=True, slots=True)
class Stored:
    """A tree as the store holds it, and what is kept of it in any case."""

    packed: bytes
    kept: dict[str, Any]

    @classmethod
    def of(cls, content: Any) -> Stored:
        text = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
        kept = {"hash": content_id("tre", content), "bytes": len(text), "stored": True}
        return cls(zstandard.compress(text), kept)


def physical(query: Spec, phase: str) -> list[Node]:
    """Scan, joins with a broadcast of each dimension, two-step aggregation, sort; `final` has adaptive reads."""
    ids = {c: i for i, c in enumerate(c for s in query.sources for c in query.columns_of(s))}
    nodes: list[Node] = []

    def add(parent: int, kind: str, detail: str) -> int:
        nodes.append((parent, kind, f"{kind}{detail}"))
        return len(nodes) - 1

    def shuffle(parent: int, partitioning: str) -> int:
        parent = add(parent, "AQEShuffleRead", " coalesced") if phase == "final" else parent
        return add(parent, "Exchange", f" {partitioning}, ENSURE_REQUIREMENTS")

    keys = ", ".join(f"{group}#{ids[group]}" for group in query.groups)
    revenue = f"(price#{ids['price']} * (1 - discount#{ids['discount']}))"
    at = add(-1, "Sort", f" [revenue#{len(ids)} DESC NULLS LAST], true, 0")
    at = shuffle(at, f"rangepartitioning(revenue#{len(ids)} DESC NULLS LAST, 200)")
    sums = f"sum({revenue}), sum(quantity#{ids['quantity']}), count(1)"
    at = add(at, "HashAggregate", f"(keys=[{keys}], functions=[{sums}])")
    at = shuffle(at, f"hashpartitioning({keys}, 200)")
    at = add(at, "HashAggregate", f"(keys=[{keys}], functions=[{sums.replace('sum', 'partial_sum')}])")
    builds = []
    for dimension in query.joined:
        at = add(at, "Project", f" [{', '.join(f'{c}#{i}' for c, i in ids.items())}]")
        at = add(at, "BroadcastHashJoin", f" [{dimension.key}], [{dimension.key}], Inner, BuildRight, false, false")
        builds.append((at, dimension))
    _scan(add, at, FACT, query, ids)
    for join, dimension in builds:
        built = add(join, "BroadcastExchange", " HashedRelationBroadcastMode(List(input[0, bigint, false]),false)")
        _scan(add, built, dimension, query, ids)
    return nodes


def _scan(add: Any, parent: int, source: Source, query: Spec, ids: dict[str, int]) -> None:
    columns = query.columns_of(source)
    read = ",".join(f"{c}#{ids[c]}" for c in columns)
    types = dict(source.types)
    predicate = f"(sold_on#{ids['sold_on']} >= {query.since})" if source is FACT else f"isnotnull({source.key})"
    at = add(parent, "Project", f" [{read}]")
    at = add(at, "Filter", f" {predicate}")
    at = add(at, "ColumnarToRow", "")
    add(
        at,
        "Scan parquet",
        f" [{read}] Batched: true, DataFilters: [{predicate}], Format: Parquet, Table: {source.name}, "
        f"PartitionFilters: [], PushedFilters: [{predicate}], "
        f"ReadSchema: struct<{','.join(f'{c}:{types[c]}' for c in columns)}>",
    )


def logical(query: Spec, step: str) -> list[dict[str, Any]]:
    """A few operators per table with the attributes they hand on and expressions over them.

    Analysis keeps all columns, optimization those that are needed.
    """
    draw = random.Random(f"{query.sql}/{step}")
    entries: list[dict[str, Any]] = []
    for source in query.sources:
        columns = source.columns if step == "analyzed" else query.columns_of(source)
        output = [_attribute(source, column, place) for place, column in enumerate(columns)]
        expressions = [_expression(draw) for _ in range(18)]
        entries += [
            {"class": f"{_CATALYST}.plans.logical.Filter", "condition": [*output[:2], _literal(query)], "child": 0},
            {"class": f"{_CATALYST}.plans.logical.Project", "projectList": [*output, *expressions], "child": 0},
            {"class": f"{_CATALYST}.plans.logical.Join", "condition": output[:1], "joinType": {"object": "Inner$"}},
            {"class": "org.apache.spark.sql.execution.datasources.LogicalRelation", "output": output, "relation": None},
        ]
    return [{"class": f"{_CATALYST}.plans.logical.Aggregate", "groupingExpressions": list(query.groups)}, *entries]


def _expression(draw: random.Random) -> dict[str, Any]:
    return {
        "class": f"{_CATALYST}.expressions.{draw.choice(_EXPRESSIONS)}",
        "exprId": {"id": draw.randrange(1_000), "product-class": f"{_CATALYST}.expressions.ExprId"},
        "left": draw.randrange(30),
        "num-children": 2,
        "right": draw.randrange(30),
        "resultId": draw.randrange(1_000),
    }


def _attribute(source: Source, column: str, place: int) -> dict[str, Any]:
    return {
        "class": f"{_CATALYST}.expressions.AttributeReference",
        "dataType": dict(source.types)[column],
        "exprId": {"id": place, "product-class": f"{_CATALYST}.expressions.ExprId"},
        "metadata": {},
        "name": column,
        "nullable": False,
        "num-children": 0,
        "qualifier": f"[{source.name}]",
    }


def _literal(query: Spec) -> dict[str, Any]:
    return {"class": f"{_CATALYST}.expressions.Literal", "dataType": "date", "num-children": 0, "value": query.since}
