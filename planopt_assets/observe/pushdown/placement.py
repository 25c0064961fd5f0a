"""Collects the filters from several places of a plan: each predicate once, with its place."""

from __future__ import annotations

import re
from collections.abc import Mapping

from planopt_assets.model.scan import Conjunct, Expression, Place
from planopt_assets.observe.pushdown.expressions import SUBQUERIES, key, sql
from planopt_assets.observe.pushdown.logical_plan import Relation

_SUBQUERY_ID = re.compile(r"(?<=ScalarSubquery)#\d+")
_NEXT_FILTER = re.compile(r", (?=[A-Z][A-Za-z]+\()")  # not by parentheses: texts in filters may contain any
_RUNTIME = {"DynamicPruningExpression": "dynamic pruning", "BloomFilterMightContain": "bloom filter"}
# Columns and filters that Delta adds to drop rows of deletion vectors.
_INTERNAL = ("__delta_internal_", "_tmp_metadata_")


def placed(
    trees: Mapping[str, tuple[Expression, ...]], relation: Relation | None
) -> tuple[tuple[Conjunct, ...], tuple[str, ...]]:
    """Every predicate once, with its place in the plan, and the runtime filters."""
    unused = trees.get("unused", ())
    asked = relation.filters if relation else tuple(e for e in unused if not e.holds(*SUBQUERIES))
    sources: list[tuple[Place, tuple[Expression, ...]]] = [
        ("partition", trees.get("partition", ())),
        ("data", trees.get("data", ())),
        ("above", asked),
        ("join", tuple(e for e in unused if e.holds("InSubquery", "ListQuery", "Exists"))),
    ]
    found: dict[str, tuple[Expression, Place]] = {}
    runtime: dict[str, None] = {}
    for place, predicates in sources:
        for predicate in predicates:
            if (kind := next((k for op, k in _RUNTIME.items() if predicate.holds(op)), None)) is not None:
                runtime[f"{kind} on {', '.join(predicate.columns)}"] = None
            # A request for dynamic pruning. Its result is among the partition filters.
            elif not predicate.holds("DynamicPruningSubquery") and not any(map(_is_internal, predicate.columns)):
                found.setdefault(key(predicate), (predicate, place))
    joined = relation.join_columns if relation else frozenset()
    seen = {key(e) for name in ("skipping", "unused") for e in trees.get(name, ())}
    return tuple(
        Conjunct(sql(e), e, place, inferred=_inferred(e, place, list(found.values()), joined, seen))
        for e, place in found.values()
    ), tuple(runtime)


def _inferred(
    predicate: Expression, place: Place, others: list[tuple[Expression, Place]], joined: frozenset[str], seen: set[str]
) -> bool:
    """Whether Spark added it, from a join or from another predicate."""
    columns = {c.casefold() for c in predicate.columns}
    if predicate.op == "IsNotNull":
        tested = {c.casefold() for e, _ in others if e.op != "IsNotNull" for c in e.columns}
        return columns <= tested | {c.casefold() for c in joined}
    # From an OR over partition and data columns, Spark extracts the part on data columns. Delta has used the whole OR.
    whole = [{c.casefold() for c in e.columns} for e, where in others if e.op == "Or" and where == "above"]
    return place == "data" and key(predicate) not in seen and any(columns < w for w in whole)


def pushed_filters(text: str) -> tuple[str, ...]:
    """The filters of `PushedFilters`, without the ids of sub-queries and without Delta's own.

    >>> pushed_filters("[IsNotNull(id), In(id, [1,2]), EqualTo(code,:-( )]")
    ('IsNotNull(id)', 'In(id, [1,2])', 'EqualTo(code,:-( )')
    """
    parts = _NEXT_FILTER.split(_SUBQUERY_ID.sub("", text[1:-1]))
    return tuple(part for part in parts if part and not any(name in part for name in _INTERNAL))


def _is_internal(column: str) -> bool:
    return column.startswith(_INTERNAL)
