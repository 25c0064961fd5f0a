"""From Spark's plan tree (JSON) to a `Plan` that is equal if the planner did the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from planopt_assets.model.location import plain_path
from planopt_assets.model.plan import ROOT, Estimate, Operator, Plan, PlanNode

EXTRACTOR = "spark-plan-info@2"

DIGEST_NAME = "planopt_digest"
"""Name of the metrics node that planopt puts on top of a measured query. It is not part of the user's plan."""

# Wrappers around operators. They depend on adaptive execution and code generation and do no work.
_SHELLS = re.compile(
    r"^(WholeStageCodegen.*|InputAdapter|AdaptiveSparkPlan|ResultQueryStage|ShuffleQueryStage|BroadcastQueryStage"
    r"|TableCacheQueryStage)$"
)
_EXPRESSION_ID = re.compile(r"#(\d+)L?")
_PLAN_ID = re.compile(r",? ?\[plan_id=\d+\]")
_SUBQUERY_ID = re.compile(r"\[id=#\d+\]")
_OWN_ID = re.compile(r"\[(?:plan_id=|id=#)(\d+)\]$")
_LOCATION = re.compile(r"Location: \w+\s?\(\d+ paths\)\[([^\]]*)\]")
_RANDOM = re.compile(r"^Sample |\b(randn?|uuid|shuffle|randstr|uniform)\(")
_SEED = re.compile(r"(?<=[(, ])-?\d{15,}(?=[), ]|$)")  # drawn at analysis when the query gives none


def normalise(
    info: Mapping[str, Any],
    *,
    phase: str,
    tables: Mapping[str, str],
    metric_values: Mapping[int, int] | None = None,
    operators: Sequence[Operator] = (),
    first_id: int = 0,
) -> Plan:
    """Flatten `info`. Expression ids are renumbered by first appearance, and paths become table names.

    `tables` maps a location to the registered name, `metric_values` an accumulator id to its value. `operators` have
    the estimates. Numbers below `first_id` are not expression ids: a literal such as `Brand#45` looks like one.

    >>> info = {"nodeName": "Sort", "simpleString": "Sort [a#17 ASC]", "children": [], "metrics": []}
    >>> normalise(info, phase="initial", tables={}).nodes[0].detail
    'Sort [a#0 ASC]'
    """
    ids: dict[str, int] = {}
    values = metric_values or {}
    by_metric = {metric: operator for operator in operators for metric in operator.metric_ids}
    nodes: list[PlanNode] = []
    own_ids: list[str | None] = []

    def renumbered(found: re.Match[str]) -> str:
        return f"#{ids.setdefault(found[1], len(ids))}" if int(found[1]) >= first_id else found[0]

    for node, parent in walk(info):
        detail = _EXPRESSION_ID.sub(renumbered, _neutral(node["simpleString"], tables))
        metrics = {m["name"]: values[m["accumulatorId"]] for m in node["metrics"] if m["accumulatorId"] in values}
        operator = next((by_metric[i] for m in node["metrics"] if (i := m["accumulatorId"]) in by_metric), None)
        own_ids.append(found[1] if (found := _OWN_ID.search(node["simpleString"])) else None)
        nodes.append(
            PlanNode(
                len(nodes),
                parent,
                node["nodeName"].strip(),
                detail,
                tuple(sorted(metrics.items())),
                operator.estimate if operator else Estimate(),
                operator.row_bytes if operator else None,
                operator.partition_bytes if operator else None,
            )
        )
    return Plan(phase, tuple(_with_reuse(nodes, own_ids)), EXTRACTOR)


def _with_reuse(nodes: Sequence[PlanNode], own_ids: Sequence[str | None]) -> Iterator[PlanNode]:
    """A reused operator shows the id of its original, which may come before or after it."""
    shared = ("Exchange", "BroadcastExchange", "Subquery")
    originals = {i: n.index for n, i in zip(nodes, own_ids, strict=True) if i and n.kind.startswith(shared)}
    for node, own_id in zip(nodes, own_ids, strict=True):
        reuses = originals.get(own_id) if own_id and node.kind.startswith("Reused") else None
        yield node if reuses is None else replace(node, reuses=reuses)


def walk(info: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], int]]:
    """Depth first, each node with the index of its parent. Wrappers are skipped, reused exchanges not entered again."""
    index = 0
    stack: list[tuple[Mapping[str, Any], int]] = [(info, ROOT)]
    while stack:
        node, parent = stack.pop()
        name = node["nodeName"]
        below = parent
        if not (_SHELLS.match(name) or (name == "CollectMetrics" and DIGEST_NAME in node["simpleString"])):
            yield node, parent
            below = index
            index += 1
        # Below an empty relation are logical operators that were optimised away and never ran.
        if not name.startswith(("Reused", "EmptyRelation")):
            stack.extend((child, below) for child in reversed(node["children"]))


def _neutral(text: str, tables: Mapping[str, str]) -> str:
    text = _PLAN_ID.sub("", text)
    text = _SUBQUERY_ID.sub("", text)
    text = _SEED.sub("seed", text) if _RANDOM.search(text) else text
    return _LOCATION.sub(lambda m: f"Table: {_table(m[1], tables)}", text)


def _table(location: str, tables: Mapping[str, str]) -> str:
    return tables.get(plain_path(location), "unregistered")
