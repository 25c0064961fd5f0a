"""Which name in a query means what: the base of renaming aliases without changing the query.

A name is renamed only where its meaning is certain. What cannot be resolved with certainty is left as it was written,
and then no alias of the same name is renamed anywhere in the query: leaving names alone is always right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from planopt_assets.observe.sql.names import Column, Definition, Frame, Names, Role, Source, Star
from planopt_assets.observe.sql.resolver import ALIASES_FIRST, Clause, NameResolver, position
from planopt_assets.observe.sql.tokens import NotCanonical

Schemas = Mapping[str, Sequence[tuple[str, str]]]
"""Name and Spark type of every column, by table."""

_NAMES_STAY = (exp.Pivot, exp.Hint, exp.Star)  # nothing in them is resolved, nothing they name is renamed


def resolve_names(tree: exp.Expr, schemas: Schemas, after_as: frozenset[int]) -> Names:
    """Resolve every name of a parsed query; `after_as` are the positions that follow the word AS."""
    binder = _Binder({name.lower(): columns for name, columns in schemas.items()}, after_as)
    binder.query(tree, None, {}, "output")
    # A variable of a lambda would catch a column that is renamed to the same name.
    binder.names.fixed |= {v.name.lower() for each in tree.find_all(exp.Lambda) for v in each.expressions}
    unseen = [
        c for c in tree.find_all(exp.Column) if id(c) not in binder.resolve.seen and not c.find_ancestor(*_NAMES_STAY)
    ]
    if unseen:
        raise NotCanonical(f"it is not certain what `{unseen[0].name}` means")
    return binder.names


@dataclass(frozen=True, slots=True)
class _Cte:
    definition: Definition
    columns: list[Column] | None


_Ctes = Mapping[str, _Cte]
_PLAIN = Clause("", {})


class _Binder:
    """Walks a query from the outside in, one frame per SELECT."""

    def __init__(self, schemas: Schemas, after_as: frozenset[int]) -> None:
        self.schemas = schemas
        self.names = Names()
        self.resolve = NameResolver(self.names, after_as)

    # Queries

    def query(self, node: exp.Expr, outer: Frame | None, ctes: _Ctes, role: Role) -> list[Column] | None:
        """Resolve the names of a query; returns its columns, None if they are not known."""
        ctes = self._with(node, outer, ctes)
        columns: list[Column] | None = None
        if isinstance(node, exp.Select):
            return self._select(node, outer, ctes, role)
        if isinstance(node, exp.SetOperation):
            if node.args.get("by_name"):
                raise NotCanonical("a union matches columns by name")
            columns = self.query(node.this, outer, ctes, role)
            self.query(node.expression, outer, ctes, "expression")
        elif isinstance(node, exp.Subquery):
            if any(node.args.get(key) for key in ("joins", "laterals", "pivots", "sample")):
                raise NotCanonical("a query in parentheses is joined or sampled without a SELECT")
            columns = self.query(node.this, outer, ctes, role)
        elif isinstance(node, exp.Values):
            self._parts(node, Frame(outer), ctes, but=("alias",))
            return None
        else:
            raise NotCanonical(f"`{type(node).__name__}` is no query that can be read")
        frame = Frame(outer, [Source(None, None, columns)])  # ORDER BY and the like see the columns only
        self._parts(node, frame, ctes, but=("this", "expression", "with_", "alias"))
        return columns

    def _with(self, node: exp.Expr, outer: Frame | None, ctes: _Ctes) -> _Ctes:
        with_ = node.args.get("with_")
        if not isinstance(with_, exp.With):
            return ctes
        visible = dict(ctes)
        for cte in with_.expressions:
            alias = cte.args["alias"]
            definition = self.resolve.define(alias.this, is_table=True)
            aliases = self.resolve.column_aliases(alias)
            if with_.recursive and isinstance(cte.this, exp.SetOperation):
                # Both branches see the columns of the first; they keep their names.
                self.resolve.fix(self.query(cte.this.this, outer, visible, "relation"), aliases)
                visible[definition.name] = _Cte(definition, aliases or None)
                self.query(cte.this.expression, outer, visible, "expression")
            else:
                columns = self.query(cte.this, outer, visible, "expression" if aliases else "relation")
                visible[definition.name] = _Cte(definition, aliases or columns)
        return visible

    def _select(self, select: exp.Select, outer: Frame | None, ctes: _Ctes, role: Role) -> list[Column] | None:
        frame = Frame(outer)
        if from_ := select.args.get("from_"):
            self._source(from_.this, frame, ctes)
        for join in select.args.get("joins") or ():
            self._join(join, frame, ctes)
        for lateral in select.args.get("laterals") or ():
            self._source(lateral, frame, ctes)
        columns = self._projections(select, frame, ctes, role)
        if select.args.get("hint"):
            self.names.hints.append((_first_position(select.expressions), frame))
        aliases = {c.name: c for c in columns or () if c.name}
        distinct = bool(select.args.get("distinct"))
        for key, part in select.args.items():
            if key not in ("expressions", "from_", "joins", "laterals", "hint", "with_"):
                seen = aliases if key in ALIASES_FIRST | {"group"} else {}
                for each in _listed(part):
                    self._expression(each, frame, ctes, Clause(key, seen, distinct))
        return columns

    # FROM

    def _source(self, node: exp.Expr, frame: Frame, ctes: _Ctes) -> None:
        """Add an item of FROM; a join in parentheses sees its own tables only."""
        joins = node.args.get("joins")
        inner = Frame(frame.parent) if joins else frame
        self._item(node, inner, ctes)
        for join in joins or ():
            self._join(join, inner, ctes)
        if inner is not frame:
            frame.sources += inner.sources
            frame.merged |= inner.merged

    def _item(self, node: exp.Expr, frame: Frame, ctes: _Ctes) -> None:
        alias = node.args.get("alias")
        role: Role = "expression" if alias and alias.columns else "relation"
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table) and not alias:
            self._source(node.this, frame, ctes)
        elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            frame.sources.append(self._table(node, ctes))
        elif isinstance(node, exp.Subquery):
            frame.sources.append(self._aliased(node, self.query(node.this, frame.parent, ctes, role)))
        elif isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery):
            frame.sources.append(self._aliased(node, self.query(node.this, frame, ctes, role)))
        elif isinstance(node, exp.Lateral | exp.Values | exp.Table):
            self._parts(node, frame, ctes, but=("alias", "joins"))
            frame.sources.append(self._aliased(node, None))
        else:
            raise NotCanonical(f"`{type(node).__name__}` in FROM cannot be read")

    def _join(self, join: exp.Join, frame: Frame, ctes: _Ctes) -> None:
        before = len(frame.sources)
        self._source(join.this, frame, ctes)
        using = join.args.get("using") or ()
        natural = join.method == "NATURAL"
        self.names.fixed |= {identifier.name.lower() for identifier in using}
        if natural:
            self.resolve.fix(*(s.columns for s in frame.sources))
        frame.merged |= bool(using) or natural
        self._parts(join, frame, ctes, but=("this", "using"))
        if join.kind in ("SEMI", "ANTI"):
            for source in frame.sources[before:]:
                source.hidden = True

    def _table(self, node: exp.Table, ctes: _Ctes) -> Source:
        name = node.name.lower()
        if any(part.find(exp.Query) for key in ("version", "when", "sample") for part in _listed(node.args.get(key))):
            raise NotCanonical("a sub-query chooses the version of a table")
        cte = None if node.db else ctes.get(name)
        if cte is not None:
            self.names.references[position(node.this)] = cte.definition
            columns = cte.columns
        else:
            columns = self._table_columns(node)
        if node.args.get("alias") or node.args.get("pivots"):
            source = self._aliased(node, columns)
            if cte is None and source.definition is not None:
                source.definition.table = name
            return source
        if node.db or set(_filled(node)) - {"this", "joins"}:  # where an alias goes is not certain
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
            # It makes columns out of values and groups by what is left over: nothing of it is renamed.
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

    # SELECT

    def _projections(self, select: exp.Select, frame: Frame, ctes: _Ctes, role: Role) -> list[Column] | None:
        columns: list[Column] = []
        known = True
        for item in select.expressions:
            if item.is_star:
                expanded = self._star(item, frame, role)
                known &= expanded is not None
                columns += expanded or ()
                continue
            self._expression(item, frame, ctes, Clause("select", {c.name: c for c in columns if c.name}))
            if aliases := _alias_identifiers(item):
                columns += [self._named(identifier, role) for identifier in aliases]
                if not isinstance(item, exp.Aliases):  # `AS (k, v)` has the word already
                    self.names.as_words.add(position(aliases[0]))
            elif isinstance(item, exp.Column):
                columns.append(self._passed_on(item, role))
            else:
                columns.append(Column(""))
                self._unnamed(item, role)
        return columns if known else None

    def _named(self, identifier: exp.Expr, role: Role) -> Column:
        start = position(identifier)
        if role != "output":
            return Column(identifier.name.lower(), self.resolve.define(identifier, is_table=False))
        self.resolve.check_alias(identifier)
        self.names.outputs.add(start)
        self.names.known[start] = identifier.name.lower()
        return Column(identifier.name.lower())

    def _passed_on(self, item: exp.Column, role: Role) -> Column:
        """`SELECT x` hands a column up under the name it has."""
        last = item.parts[-1]
        start = position(last)
        if role == "output":
            self.names.outputs.add(start)
            self.names.output_ends[start] = last.name
        definition = self.names.references.get(start) if role != "output" else None
        return Column(last.name.lower(), definition, passed_on=self.resolve.resolved.get(start))

    def _unnamed(self, item: exp.Expr, role: Role) -> None:
        """Spark calls the column after its expression, without qualifiers, so the names in it must stay."""
        if role == "expression":
            return
        for column in item.find_all(exp.Column):
            for part in column.parts:
                definition = self.names.references.get(part.meta.get("start", -1))
                if definition is None or not definition.is_table:
                    self.names.fixed.add(part.name.lower())
                    if role == "output":
                        self.names.outputs.add(position(part))

    def _star(self, item: exp.Expr, frame: Frame, role: Role) -> list[Column] | None:
        """`*` or `t.*` of a SELECT list: written out where every column is known, else left alone with its names."""
        star = item.args.get("this") if isinstance(item, exp.Column) else item
        table = item.args.get("table") if isinstance(item, exp.Column) else None
        sources = [s for s in frame.sources if (s.name == table.name.lower() if table else not s.hidden)]
        excepted = _listed(star.args.get("except_")) if isinstance(star, exp.Star) else []
        simple = isinstance(star, exp.Star) and set(_filled(star)) <= {"except_"} and not item.args.get("db")
        simple &= all(isinstance(e, exp.Column | exp.Identifier) and not e.args.get("table") for e in excepted)
        if not (simple and sources and all(s.closed for s in sources) and (table or not frame.merged)):
            self._kept_star(item, frame)
            return None
        self.resolve.seen.add(id(item))
        dropped = {e.name.lower() for e in excepted}
        columns = [(s, c) for s in sources for c in s.columns or () if c.name not in dropped]
        assert star is not None
        self.names.stars[position(star)] = Star(tuple(columns), bool(excepted), role)
        if table:
            self.names.dropped.add(position(table))
        output = role == "output"
        return [Column(c.name, None if output else c.definition, c.spelling, c.data_type, c) for _, c in columns]

    def _kept_star(self, item: exp.Expr, frame: Frame) -> None:
        self.resolve.seen.add(id(item))
        self.names.fixed |= {identifier.name.lower() for identifier in item.find_all(exp.Identifier)}
        self.resolve.fix(*(s.columns for s in frame.sources))
        self.names.kept_stars.append([c.name for s in frame.sources for c in s.columns or ()])

    # Expressions

    def _parts(self, node: exp.Expr, frame: Frame, ctes: _Ctes, but: tuple[str, ...]) -> None:
        clause = Clause("on", {}) if isinstance(node, exp.Join) else _PLAIN
        for key, part in node.args.items():
            if key not in but:
                for each in _listed(part):
                    self._expression(each, frame, ctes, clause)

    def _expression(self, root: exp.Expr, frame: Frame, ctes: _Ctes, clause: Clause) -> None:
        """Resolve the columns of an expression, and of the queries inside it; a loop, since trees can be deep."""
        stack = [root]
        while stack:
            node = stack.pop()
            if isinstance(node, exp.Query):
                self.query(node, frame, ctes, "expression")
            elif node.is_star and not isinstance(node.parent, exp.Count):
                self._kept_star(node, frame)
            elif isinstance(node, exp.Column) and not node.is_star:
                self.resolve.column(node, frame, clause)
            elif not isinstance(node, exp.Star):
                stack.extend(node.iter_expressions())


def _alias_identifiers(item: exp.Expr) -> list[exp.Expr]:
    if isinstance(item, exp.Aliases):
        return list(item.expressions)
    alias = item.args.get("alias") if isinstance(item, exp.Alias | exp.Subquery) else None
    alias = alias.this if isinstance(alias, exp.TableAlias) else alias
    return [alias] if isinstance(alias, exp.Identifier) else []


def _listed(part: object) -> list[exp.Expr]:
    return [p for p in (part if isinstance(part, list) else [part]) if isinstance(p, exp.Expr)]


def _filled(node: exp.Expr) -> list[str]:
    return [key for key, value in node.args.items() if value not in (None, False, [], "")]


def _first_position(nodes: Iterable[exp.Expr]) -> int:
    """Where the SELECT list begins, as far as its names tell."""
    return min((n.meta["start"] for node in nodes for n in node.walk() if "start" in n.meta), default=-1)
