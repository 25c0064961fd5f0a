"""Resolves every name of a query, so that aliases can be renamed without changing the query.

A name is renamed only if its meaning is certain. Any other name stays as it is written, and then no alias with that
name is renamed anywhere in the query. To leave a name alone is always safe.

sqlglot's own `qualify` and `Scope` are not used. `qualify` rewrites the tree: USING becomes `coalesce`, `GROUP BY 1`
becomes an expression, and ORDER BY prefers an output column to a table's column. `Scope` shows an ON clause all tables
of the FROM, not only those joined so far, and refuses two sources with one name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp

from planopt_assets.observe.sql.names import Column, Definition, Frame, Names, Role, Source
from planopt_assets.observe.sql.resolver import NameResolver, position
from planopt_assets.observe.sql.select_list import SelectList, filled
from planopt_assets.observe.sql.tokens import NotCanonical

Schemas = Mapping[str, Sequence[tuple[str, str]]]
"""Name and Spark type of every column, by table."""

_NAMES_STAY = (exp.Pivot, exp.Hint, exp.Star)  # names in them are not resolved, and not renamed


def resolve_names(tree: exp.Expr, schemas: Schemas, after_as: frozenset[int]) -> Names:
    """Resolve every name of a parsed query; `after_as` has the positions after the word AS."""
    binder = _Binder({name.lower(): columns for name, columns in schemas.items()}, after_as)
    binder.query(tree, None, {}, "output")
    # A lambda variable would capture a column that is renamed to the same name.
    binder.names.fixed |= {v.name.lower() for each in tree.find_all(exp.Lambda) for v in each.expressions}
    for column in tree.find_all(exp.Column):
        if id(column) not in binder.resolve.seen and not column.find_ancestor(*_NAMES_STAY):
            raise NotCanonical(f"it is not certain what `{column.name}` means")
    return binder.names


class _Binder:
    """Walks a query from the outside in, with one frame per SELECT."""

    def __init__(self, schemas: Schemas, after_as: frozenset[int]) -> None:
        self.schemas = schemas
        self.names = Names()
        self.resolve = NameResolver(self.names, after_as)
        self.select_list = SelectList(self.resolve)

    # Queries

    def query(self, node: exp.Expr, outer: Frame | None, ctes: Mapping[str, Source], role: Role) -> list[Column] | None:
        """Resolve the names of a query. Returns its columns, None if they are not known."""
        frame = Frame(outer, self._with(node, outer, ctes))
        if isinstance(node, exp.Select):
            return self._select(node, frame, role)
        if isinstance(node, exp.Values):
            self._parts(node, frame, but=("alias",))
            return None
        if isinstance(node, exp.SetOperation):
            if node.args.get("by_name"):
                raise NotCanonical("a union matches columns by name")
            columns = self.query(node.this, outer, frame.ctes, role)
            self.query(node.expression, outer, frame.ctes, "expression")
        elif isinstance(node, exp.Subquery):
            if any(node.args.get(key) for key in ("joins", "laterals", "pivots", "sample")):
                raise NotCanonical("a query in parentheses is joined or sampled without a SELECT")
            columns = self.query(node.this, outer, frame.ctes, role)
        else:
            raise NotCanonical(f"`{type(node).__name__}` is no query that can be read")
        frame.sources.append(Source(None, None, columns))  # ORDER BY and LIMIT see only the output columns
        self._parts(node, frame, but=("this", "expression", "with_", "alias"))
        return columns

    def _with(self, node: exp.Expr, outer: Frame | None, ctes: Mapping[str, Source]) -> Mapping[str, Source]:
        """The CTEs that a query can name: its own, and those around it."""
        with_ = node.args.get("with_")
        if not isinstance(with_, exp.With):
            return ctes
        visible = dict(ctes)
        for cte in with_.expressions:
            alias = cte.args["alias"]
            definition = self.resolve.define(alias.this, is_table=True)
            aliases = self.resolve.column_aliases(alias)
            if with_.recursive and isinstance(cte.this, exp.SetOperation):
                # Both branches use the columns of the first branch; those keep their names.
                self.resolve.fix(self.query(cte.this.this, outer, visible, "relation"), aliases)
                visible[definition.name] = Source(definition.name, definition, aliases or None)
                self.query(cte.this.expression, outer, visible, "expression")
            else:
                columns = self.query(cte.this, outer, visible, "expression" if aliases else "relation")
                visible[definition.name] = Source(definition.name, definition, aliases or columns)
        return visible

    def _select(self, select: exp.Select, frame: Frame, role: Role) -> list[Column] | None:
        if from_ := select.args.get("from_"):
            self._source(from_.this, frame)
        for join in select.args.get("joins") or ():
            self._join(join, frame)
        for lateral in select.args.get("laterals") or ():
            self._source(lateral, frame)
        frame.distinct = bool(select.args.get("distinct"))
        columns = self._projections(select, frame, role)
        if select.args.get("hint"):
            self.names.hints.append((_first_position(select.expressions), frame))
        self._parts(select, frame, but=("expressions", "from_", "joins", "laterals", "hint", "with_"))
        return columns

    def _projections(self, select: exp.Select, frame: Frame, role: Role) -> list[Column] | None:
        columns: list[Column] = []
        known = True
        for item in select.expressions:
            if item.is_star:
                made = self.select_list.star(item, frame, role)
            else:
                self._expression(item, frame, "select")
                made = self.select_list.columns(item, role)
            known &= made is not None
            columns += made or ()
            frame.outputs.update((c.name, c) for c in made or () if c.name)
        if known:
            return columns
        frame.outputs.clear()
        return None

    # FROM

    def _source(self, node: exp.Expr, frame: Frame) -> None:
        """Add an item of FROM. A join in parentheses sees only its own tables."""
        joins = node.args.get("joins")
        inner = Frame(frame.parent, frame.ctes) if joins else frame
        self._item(node, inner)
        for join in joins or ():
            self._join(join, inner)
        if inner is not frame:
            frame.sources += inner.sources
            frame.merged |= inner.merged

    def _item(self, node: exp.Expr, frame: Frame) -> None:
        alias = node.args.get("alias")
        role: Role = "expression" if alias and alias.columns else "relation"
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table) and not alias:
            self._source(node.this, frame)
        elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            frame.sources.append(self._table(node, frame))
        elif isinstance(node, exp.Subquery):
            frame.sources.append(self._aliased(node, self.query(node.this, frame.parent, frame.ctes, role)))
        elif isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery):
            frame.sources.append(self._aliased(node, self.query(node.this, frame, frame.ctes, role)))
        elif isinstance(node, exp.Lateral | exp.Values | exp.Table):
            self._parts(node, frame, but=("alias", "joins"))
            frame.sources.append(self._aliased(node, None))
        else:
            raise NotCanonical(f"`{type(node).__name__}` in FROM cannot be read")

    def _join(self, join: exp.Join, frame: Frame) -> None:
        before = len(frame.sources)
        self._source(join.this, frame)
        using = join.args.get("using") or ()
        natural = join.method == "NATURAL"
        self.names.fixed |= {identifier.name.lower() for identifier in using}
        if natural:
            self.resolve.fix(*(s.columns for s in frame.sources))
        frame.merged |= bool(using) or natural
        self._parts(join, frame, but=("this", "using"))
        if join.kind in ("SEMI", "ANTI"):
            for source in frame.sources[before:]:
                source.hidden = True

    def _table(self, node: exp.Table, frame: Frame) -> Source:
        name = node.name.lower()
        if any(p.find(exp.Query) for p in node.iter_expressions() if p.arg_key in ("version", "when", "sample")):
            raise NotCanonical("a sub-query chooses the version of a table")
        cte = None if node.db else frame.ctes.get(name)
        if cte is not None and cte.definition is not None:
            self.names.references[position(node.this)] = cte.definition
        columns = cte.columns if cte is not None else self._table_columns(node)
        if node.args.get("alias") or node.args.get("pivots"):
            source = self._aliased(node, columns)
            if cte is None and source.definition is not None:
                source.definition.table = name
            return source
        if node.db or filled(node) - {"this", "joins"}:  # it is not certain where an alias would go
            self.names.fixed.add(name)
            return Source(name, None, columns)
        definition = Definition(position(node.this), name, is_table=True, table="" if cte else name)
        self.names.definitions.append(definition)
        self.names.table_ends[definition.start] = definition
        return Source(name, definition, columns)

    def _table_columns(self, node: exp.Table) -> list[Column] | None:
        schema = self.schemas.get(".".join(part.name.lower() for part in node.parts))
        if schema is None and not node.db:
            raise NotCanonical(f"the columns of `{node.name}` are not known")
        if schema is None:
            return None
        self.names.taken |= {name.lower() for name, _ in schema}
        for part in node.parts:
            self.names.known[position(part)] = part.name.lower()
        return [Column(name.lower(), spelling=name, data_type=kind.lower()) for name, kind in schema]

    def _aliased(self, node: exp.Expr, columns: list[Column] | None) -> Source:
        alias = node.args.get("alias")
        if node.args.get("pivots"):
            # It turns values into columns and groups by all other columns, so none of its names may change.
            self.resolve.fix(columns)
            self.names.fixed |= {identifier.name.lower() for identifier in node.find_all(exp.Identifier)}
            return Source(None, None, None)
        if not isinstance(alias, exp.TableAlias):
            return Source(None, None, columns)
        listed = self.resolve.column_aliases(alias)
        if listed and columns is not None and len(listed) != len(columns):
            raise NotCanonical("a table has another number of columns than its alias names")
        columns = listed or columns
        if alias.this is None or "start" not in alias.this.meta:
            return Source(None, None, columns)
        definition = self.resolve.define(alias.this, is_table=True)
        if not (isinstance(node, exp.Lateral) and node.args.get("view")):
            self.names.as_words.add(definition.start)
        return Source(definition.name, definition, columns)

    # Expressions

    def _parts(self, node: exp.Expr, frame: Frame, but: tuple[str, ...]) -> None:
        """Resolve the parts of a node, except those under the keys of `but`."""
        for part in node.iter_expressions():
            if part.arg_key and part.arg_key not in but:
                self._expression(part, frame, part.arg_key)

    def _expression(self, root: exp.Expr, frame: Frame, clause: str) -> None:
        """Resolve the columns of an expression, and the queries in it.

        It is a loop because trees can be deep. It goes from right to left: the fingerprint has the stars that stay
        in the order in which they are met, so another order would change it.
        """
        stack = [root]
        while stack:
            node = stack.pop()
            if isinstance(node, exp.Query):
                self.query(node, frame, frame.ctes, "expression")
            elif node.is_star and not isinstance(node.parent, exp.Count):
                self.select_list.kept_star(node, frame)
            elif isinstance(node, exp.Column) and not node.is_star:
                self.resolve.column(node, frame, clause)
            elif not isinstance(node, exp.Star):
                stack.extend(node.iter_expressions())


def _first_position(nodes: Iterable[exp.Expr]) -> int:
    """The first position in a SELECT list, as far as its names have one."""
    return min((n.meta["start"] for node in nodes for n in node.walk() if "start" in n.meta), default=-1)
