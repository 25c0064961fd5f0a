"""The filters over each relation of the optimized plan, also those that no scan received."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planopt_assets.model.scan import Expression
from planopt_assets.observe.plans.plan_json import Json as Node
from planopt_assets.observe.plans.plan_json import Node as PlanNode
from planopt_assets.observe.plans.plan_json import kind_of, plan_tree
from planopt_assets.observe.pushdown.expressions import conjuncts, expressions

_PYTHON = ("BatchEvalPython", "ArrowEvalPython")
_SEE_THROUGH = ("Filter", "Project", *_PYTHON)


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation of the plan, identified by the ids of its columns."""

    ids: frozenset[int]
    filters: tuple[Expression, ...]
    join_columns: frozenset[str]


def relations(nodes: Sequence[Node]) -> tuple[Relation, ...]:
    """Every relation with the conjuncts directly over it: first of the plan, then of its sub-queries.

    A pruning sub-query repeats relations of the plan.
    """
    found: list[Relation] = []
    plans = [nodes]
    for plan in plans:  # the list grows during the loop
        _visit(plan_tree(plan), (), frozenset(), found)
        plans += [inner for node in plan for inner in _subqueries(node)]
    return tuple(found)


def _visit(tree: PlanNode, over: tuple[Node, ...], joined: frozenset[int], found: list[Relation]) -> None:
    node, kind = tree.fields, tree.kind
    if kind == "Join":
        joined |= {i for part in _lists(node.get("condition")) for i in _ids(part)}
    if not tree.children and "output" in node:
        found.append(_relation(node, over, joined))
    over = (*over, node) if kind in _SEE_THROUGH else ()
    for child in tree.children:
        _visit(child, over, joined, found)


def _relation(node: Node, over: tuple[Node, ...], joined: frozenset[int]) -> Relation:
    definitions: dict[int, Expression] = {}
    filters: list[Expression] = []
    for step in reversed(over):  # from the relation upwards: a step may use what lower steps compute
        if kind_of(step) == "Filter":
            (condition,) = expressions(step["condition"], definitions)
            filters += conjuncts(condition)
        definitions |= _computed(step, definitions)
    columns = {i: name for part in node["output"] for i, name in _columns(part)}
    return Relation(frozenset(columns), tuple(filters), frozenset(name for i, name in columns.items() if i in joined))


def _computed(step: Node, definitions: Mapping[int, Expression]) -> dict[int, Expression]:
    """Columns that a projection or a Python step adds, with their expressions."""
    if kind_of(step) in _PYTHON:
        ids = [i for part in step["resultAttrs"] for i, _ in _columns(part)]
        return dict(zip(ids, (expressions(udf, definitions)[0] for udf in step["udfs"]), strict=True))
    if kind_of(step) == "Project":
        return {
            part[0]["exprId"]["id"]: expressions(part, definitions)[0]
            for part in step["projectList"]
            if kind_of(part[0]) == "Alias"
        }
    return {}


def _subqueries(value: Any) -> Iterator[Sequence[Node]]:
    """Plans inside expressions."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name in ("plan", "buildQuery") and _is_plan(inner):
                yield inner
            else:
                yield from _subqueries(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _subqueries(inner)


def _is_plan(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping) and "num-children" in value[0]


def _lists(value: Any) -> list[Any]:
    return [value] if isinstance(value, list) and value else []


def _ids(nodes: Sequence[Any]) -> Iterator[int]:
    return (i for i, _ in _columns(nodes))


def _columns(nodes: Sequence[Any]) -> Iterator[tuple[int, str]]:
    return ((n["exprId"]["id"], n["name"]) for n in nodes if isinstance(n, Mapping) and "exprId" in n)
