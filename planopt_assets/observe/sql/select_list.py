"""The columns that a SELECT list makes: their names, and what its stars stand for."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from planopt_assets.observe.sql.names import Column, Frame, Role, Star
from planopt_assets.observe.sql.resolver import NameResolver, position


class SelectList:
    """Notes the column names of SELECT lists; the expressions in them are already resolved."""

    def __init__(self, resolve: NameResolver) -> None:
        self.resolve = resolve
        self.names = resolve.names

    def columns(self, item: exp.Expr, role: Role) -> list[Column]:
        """The columns of an item that is not a star."""
        if aliases := _alias_identifiers(item):
            if not isinstance(item, exp.Aliases):  # `AS (k, v)` always has the word
                self.names.as_words.add(position(aliases[0]))
            return [self._named(identifier, role) for identifier in aliases]
        if isinstance(item, exp.Column):
            return [self._passed_on(item, role)]
        self._unnamed(item, role)
        return [Column("")]

    def _named(self, identifier: exp.Expr, role: Role) -> Column:
        name = identifier.name.lower()
        if role != "output":
            return Column(name, self.resolve.define(identifier, is_table=False))
        self.resolve.check_alias(identifier)
        self.names.outputs.add(position(identifier))
        self.names.known[position(identifier)] = name
        return Column(name)

    def _passed_on(self, item: exp.Column, role: Role) -> Column:
        """`SELECT x`: the column keeps the name it has in its source."""
        last = item.parts[-1]
        start = position(last)
        if role == "output":
            self.names.outputs.add(start)
            self.names.output_ends[start] = last.name
        definition = self.names.references.get(start) if role != "output" else None
        return Column(last.name.lower(), definition, passed_on=self.resolve.resolved.get(start))

    def _unnamed(self, item: exp.Expr, role: Role) -> None:
        """Spark names the column after its expression without qualifiers, so the names in it are fixed."""
        if role == "expression":
            return
        for part in (part for column in item.find_all(exp.Column) for part in column.parts):
            definition = self.names.references.get(part.meta.get("start", -1))
            if definition is None or not definition.is_table:
                self.names.fixed.add(part.name.lower())
                if role == "output":
                    self.names.outputs.add(position(part))

    def star(self, item: exp.Expr, frame: Frame, role: Role) -> list[Column] | None:
        """The columns of `*` or `t.*`, which are written out; None if they are not known and the star stays."""
        star = item.args.get("this") if isinstance(item, exp.Column) else item
        table = item.args.get("table") if isinstance(item, exp.Column) else None
        sources = [s for s in frame.sources if (s.name == table.name.lower() if table else not s.hidden)]
        known = bool(sources) and all(s.closed for s in sources) and bool(table or not frame.merged)
        if not (isinstance(star, exp.Star) and known and _is_simple(star) and not item.args.get("db")):
            self.kept_star(item, frame)
            return None
        self.resolve.seen.add(id(item))
        dropped = {e.name.lower() for e in _excepted(star)}
        columns = [(s, c) for s in sources for c in s.columns or () if c.name not in dropped]
        self.names.stars[position(star)] = Star(tuple(columns), bool(dropped), role)
        if table:
            self.names.dropped.add(position(table))
        output = role == "output"
        return [Column(c.name, None if output else c.definition, c.spelling, c.data_type, c) for _, c in columns]

    def kept_star(self, item: exp.Expr, frame: Frame) -> None:
        """A star that stays in the text: the names of all columns that it may stand for are fixed."""
        self.resolve.seen.add(id(item))
        self.names.fixed |= {identifier.name.lower() for identifier in item.find_all(exp.Identifier)}
        self.resolve.fix(*(s.columns for s in frame.sources))
        self.names.kept_stars.append([c.name for s in frame.sources for c in s.columns or ()])


def filled(node: exp.Expr) -> set[str]:
    """The keys of a node that are set."""
    return {key for key, value in node.args.items() if value not in (None, False, [], "")}


def _is_simple(star: exp.Star) -> bool:
    """`*` or `* EXCEPT (a, b)`."""
    plain = (isinstance(e, exp.Column | exp.Identifier) and not e.args.get("table") for e in _excepted(star))
    return filled(star) <= {"except_"} and all(plain)


def _excepted(star: exp.Star) -> list[exp.Expr]:
    return [part for part in star.iter_expressions() if part.arg_key == "except_"]


def _alias_identifiers(item: exp.Expr) -> Sequence[exp.Expr]:
    if isinstance(item, exp.Aliases):
        return item.expressions
    alias = item.args.get("alias") if isinstance(item, exp.Alias | exp.Subquery) else None
    alias = alias.this if isinstance(alias, exp.TableAlias) else alias
    return [alias] if isinstance(alias, exp.Identifier) else []
