"""Column lineage from the analysed plan: the columns a query needs of each table, and the origins of its outputs.

The plan becomes a graph of columns. A column points to those it is computed from. An operator also points to the
columns that decide which rows it has (predicates, keys). Both questions are then reachability: the origins of an output
are the table columns it reaches; required are the table columns that the outputs and all live operators reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from planopt_assets.model.column_lineage import ColumnLineage
from planopt_assets.observe.plans.plan_json import (
    Flat,
    Json,
    Node,
    after_subtree,
    bottom_up,
    expression_id,
    expressions,
    kind_of,
    plan_tree,
)

UNREGISTERED = "unregistered"


@dataclass(eq=False, slots=True)
class _Column:
    """A column of an operator: the columns it is computed from, and the sub-queries whose rows it depends on."""

    name: str
    table: str = ""  # for a column of a table
    made_from: list[_Column] = field(default_factory=list)
    also_needs: list[_Column] = field(default_factory=list)  # correlated columns: they select rows of a sub-query
    queries: list[_Relation] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class _Relation:
    """An operator's columns by expression id, and the columns that decide on its rows and on all rows below."""

    columns: list[tuple[int, _Column]]
    decided_by: _Column
    below: list[_Relation] = field(default_factory=list)


_Columns = list[tuple[int, _Column]]
_Scope = Mapping[int, _Column]

# Operators that pass every column on. Their expressions only decide on rows or their order.
_PASS_ON = frozenset(
    {
        *("SubqueryAlias", "View", "Filter", "Sort", "GlobalLimit", "LocalLimit", "LimitAll", "Offset", "Sample"),
        *("Repartition", "RepartitionByExpression", "RebalancePartitions", "ResolvedHint", "CollectMetrics"),
        *("Deduplicate", "ResolvedInlineTable", "PipeOperator"),
    }
)


def column_lineage(plan: Flat, tables: Mapping[str, str], leaves: Mapping[int, str] | None = None) -> ColumnLineage:
    """Lineage of an analysed plan as JSON.

    `tables` maps a table's name in the plan (view, catalog name or path) to its registered name. For a leaf without a
    name, `leaves` maps the expression id of one of its columns to the registered name.
    """
    reader = _Reader({name.lower(): table for name, table in tables.items()}, leaves or {})
    root = reader.relation(plan, {})
    required: dict[str, set[str]] = {}
    for column in _reached([*(c for _, c in root.columns), *_decisions([root])], needs=True):
        if column.table:
            required.setdefault(column.table, set()).update([column.name] if column.name else ())
    return ColumnLineage(
        {table: tuple(sorted(required[table])) for table in sorted(required)},
        tuple((column.name, _origins(column)) for _, column in root.columns),
    )


def _origins(column: _Column) -> tuple[str, ...]:
    return tuple(sorted({f"{c.table}.{c.name}" for c in _reached([column], needs=False) if c.table}))


def _reached(start: Iterable[_Column], *, needs: bool) -> Iterator[_Column]:
    """The columns that these are computed from. With `needs`, also those that decide on rows of sub-queries."""
    stack = list(start)
    seen: set[_Column] = set()
    while stack:
        column = stack.pop()
        if column in seen:
            continue
        seen.add(column)
        yield column
        stack += column.made_from
        if needs:
            stack += column.also_needs
            stack += _decisions(column.queries)


def _decisions(relations: Iterable[_Relation]) -> list[_Column]:
    """The columns that decide on the rows of these relations and of those below them."""
    stack = list(relations)
    seen: set[_Relation] = set()
    while stack:
        relation = stack.pop()
        if relation not in seen:
            seen.add(relation)
            stack += relation.below
    return [relation.decided_by for relation in seen]


class _Reader:
    """Builds the graph of columns of one plan, sub-queries and CTEs included."""

    def __init__(self, tables: Mapping[str, str], leaves: Mapping[int, str]) -> None:
        self.tables = tables
        self.leaves = leaves
        self.ctes: dict[int, _Relation] = {}
        self.loops: dict[int, list[_Columns]] = {}  # columns of references to a recursion that is being read

    def relation(self, flat: Flat, outer: _Scope) -> _Relation:
        done: dict[int, _Relation] = {}
        root = plan_tree(flat)
        names = _names_of_leaves(root)
        for node in bottom_up(root):
            below = [done.pop(id(child)) for child in node.children]
            done[id(node)] = self._operator(node, below, outer, names.get(id(node), ()))
        return done[id(root)]

    def _operator(self, node: Node, below: list[_Relation], outer: _Scope, names: Iterable[str]) -> _Relation:
        """The columns of an operator and what decides on its rows. It starts with the columns from below."""
        passed = [pair for relation in below for pair in relation.columns]
        scope = {**outer, **dict(passed)}
        relation = _Relation(passed, _Column(f"rows of {node.kind}"), list(below))
        decided_by = relation.decided_by
        fields = node.fields
        match node.kind:
            case "LogicalRelation" | "LocalRelation" | "OneRowRelation" | "Range":
                self._leaf(relation, fields, names)
            case "Project":
                relation.columns = self._computed(fields["projectList"], scope)
            case "Aggregate":
                relation.columns = self._computed(fields["aggregateExpressions"], scope)
                self._use(decided_by, expressions(fields["groupingExpressions"]), scope)
            case "Window":  # its keys are also in its expressions
                relation.columns = [*passed, *self._computed(fields["windowExpressions"], scope)]
            case "Expand":
                relation.columns = _declared(fields["output"])
                rows = [list(expressions(row)) for row in fields["projections"]]
                for number, (_, column) in enumerate(relation.columns):
                    self._use(column, (row[number] for row in rows), scope)
            case "Generate":
                made = _declared(fields["generatorOutput"])
                for user in (decided_by, *(column for _, column in made)):
                    self._use(user, expressions(fields["generator"]), scope)
                relation.columns = [*passed, *made]
            case "Union":
                relation.columns = _side_by_side([r.columns for r in below])
            case "Distinct" | "Except" | "Intersect":  # rows are compared in all their columns
                relation.columns = below[0].columns
                decided_by.made_from += [column for _, column in passed]
            case "Join":
                self._use(decided_by, expressions(fields.get("condition")), scope)
                relation.columns = below[0].columns if _keeps_left_only(fields) else passed
            case "LateralJoin":
                self._use(decided_by, expressions(fields.get("condition")), scope)
                (right,) = expressions(fields["right"])
                query = self.relation(right[0]["plan"], scope)
                relation.columns = [*passed, *query.columns]
                relation.below.append(query)
            case "WithCTE":  # a definition counts only where it is used
                relation.columns = below[-1].columns
                relation.below = [below[-1]]
            case "CTERelationDef":
                self.ctes[fields["id"]] = relation
            case "CTERelationRef":
                definition = self.ctes[fields["cteId"]]
                relation.columns = _made_from(_declared(fields["output"]), definition.columns)
                relation.below.append(definition)
            case "UnionLoop":
                relation.columns = self._loop(fields, below)
            case "UnionLoopRef":
                relation.columns = _declared(fields["output"])
                self.loops.setdefault(fields["loopId"], []).append(relation.columns)
            case kind if kind in _PASS_ON:
                self._use(decided_by, _all_expressions(fields), scope)
            case _:
                self._opaque(relation, fields, scope)
        return relation

    def _leaf(self, relation: _Relation, fields: Json, names: Iterable[str]) -> None:
        relation.columns = _declared(fields.get("output"))
        if kind_of(fields) == "LogicalRelation":
            given = (self.leaves[i] for i, _ in relation.columns if i in self.leaves)
            found = (self.tables[name] for name in names if name in self.tables)
            table = next((t for source in (given, found) for t in source), UNREGISTERED)
            relation.decided_by = _Column("", table)  # a table is required even if none of its columns is
            for _, column in relation.columns:
                column.table = table

    def _opaque(self, relation: _Relation, fields: Json, scope: _Scope) -> None:
        """A function over whole rows, or an unknown operator: each output may depend on every input column."""
        self._use(relation.decided_by, _all_expressions(fields), scope)
        relation.decided_by.made_from += [column for _, column in relation.columns]
        made = _declared(fields.get("output"))
        for _, column in made:
            column.made_from.append(relation.decided_by)
        relation.columns = made or relation.columns

    def _loop(self, fields: Json, below: list[_Relation]) -> _Columns:
        """A recursion: its columns come from both branches, and the second branch reads them again."""
        columns = _side_by_side([r.columns for r in below])
        for references in self.loops.pop(fields["id"], ()):
            _made_from(references, columns)
        ids = [int(i["id"]) for i in fields["outputAttrIds"]]
        return [(i, column) for i, (_, column) in zip(ids, columns, strict=True)]

    # Expressions

    def _computed(self, value: object, scope: _Scope) -> _Columns:
        """The columns of a SELECT list: passed on unchanged, or computed and named."""
        columns: _Columns = []
        for flat in expressions(value):
            column = _Column(flat[0]["name"])
            self._use(column, [flat], scope)
            columns.append((expression_id(flat[0]), column))
        return columns

    def _use(self, user: _Column, used: Iterable[Flat], scope: _Scope) -> None:
        """Make `user` depend on every column and sub-query in these expressions."""
        for flat in used:
            at = 0
            while at < len(flat):
                node = flat[at]
                if kind_of(node) == "AttributeReference":
                    user.made_from.append(scope[expression_id(node)])
                elif kind_of(node) == "OuterReference":
                    self._use(user, expressions(node["e"]), scope)
                elif "plan" in node:
                    at = self._subquery(user, flat, at, scope)
                    continue
                at += 1

    def _subquery(self, user: _Column, flat: Flat, at: int, scope: _Scope) -> int:
        """A sub-query gives a value and has its own rows. Returns the end of its expression."""
        end = after_subtree(flat, at)
        query = self.relation(flat[at]["plan"], scope)
        user.queries.append(query)
        if kind_of(flat[at]) not in ("Exists", "LateralSubquery"):  # of which only the rows matter
            user.made_from += [column for _, column in query.columns]
        correlated = _Column("correlation")
        self._use(correlated, [flat[at + 1 : end]], scope)
        user.also_needs.append(correlated)
        return end


def _declared(value: object) -> _Columns:
    return [(expression_id(e[0]), _Column(e[0]["name"])) for e in expressions(value)]


def _all_expressions(fields: Json) -> Iterator[Flat]:
    for name, value in fields.items():
        if name != "output":
            yield from expressions(value)


def _names_of_leaves(root: Node) -> dict[int, tuple[str, ...]]:
    """The names of each leaf in the views and aliases directly above it, nearest first, in lower case."""
    names: dict[int, tuple[str, ...]] = {}
    stack: list[tuple[Node, tuple[str, ...]]] = [(root, ())]
    while stack:
        node, above = stack.pop()
        if not node.children:
            names[id(node)] = above
        names_it = _NAMES.get(node.kind)
        called = (*names_it(node.fields), *above) if names_it else ()
        stack.extend((child, called) for child in node.children)
    return names


def _alias_names(fields: Json) -> tuple[str, ...]:
    identifier = fields["identifier"]
    qualifier = identifier.get("qualifier") or []
    parts = qualifier.strip("[]").split(", ") if isinstance(qualifier, str) else list(qualifier)
    name = identifier["name"].lower()
    return (name, ".".join([*(p.lower() for p in parts), name])) if parts else (name,)


def _view_names(fields: Json) -> tuple[str, ...]:
    identifier = fields["desc"]["identifier"]
    name = identifier["table"].lower()
    return (name, f"{identifier['database']}.{name}".lower()) if identifier.get("database") else (name,)


_NAMES: dict[str, Callable[[Json], tuple[str, ...]]] = {"SubqueryAlias": _alias_names, "View": _view_names}


def _side_by_side(relations: list[_Columns]) -> _Columns:
    """Columns of a UNION: named as in the first branch, computed from the same position in all branches."""
    return [
        (pairs[0][0], _Column(pairs[0][1].name, made_from=[column for _, column in pairs]))
        for pairs in zip(*relations, strict=True)
    ]


def _made_from(columns: _Columns, origins: _Columns) -> _Columns:
    for (_, column), (_, origin) in zip(columns, origins, strict=True):
        column.made_from.append(origin)
    return columns


def _keeps_left_only(fields: Json) -> bool:
    join_type = fields["joinType"]
    return str(join_type.get("object", "")).rstrip("$").endswith(("LeftSemi", "LeftAnti"))
