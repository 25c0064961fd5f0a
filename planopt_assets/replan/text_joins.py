"""The joins of an SQL text, in the order of the analysed plan.

Depth first, a join before its inputs, left before right. WITH definitions come before their query. Queries inside
expressions (`IN (SELECT …)`) are not numbered: they become joins only later.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Input:
    """An input of a join, with the name that a hint in the same SELECT uses."""

    name: str  # lower case
    start: int  # of the name's token
    select: int  # number of the SELECT whose FROM has it


@dataclass(frozen=True, slots=True)
class TextJoin:
    """One join of a FROM clause. An input is None if no hint can name it, for example because it is a join."""

    left: Input | None
    right: Input | None

    def side(self, name: str) -> Input | None:
        return self.left if name == "left" else self.right


@dataclass(slots=True)
class TextJoins:
    """All joins of a text. `doubt` is why their numbers may differ from those in the plan (empty: they agree)."""

    joins: list[TextJoin] = field(default_factory=list)
    names: dict[int, list[str]] = field(default_factory=dict)  # number of a SELECT -> all names in its FROM
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class _Source:
    """An item of FROM, or a join of two items. `query` is the query of a derived table."""

    input: Input | None
    query: exp.Expr | None = None
    joined: tuple[_Source, _Source] | None = None


def text_joins(tree: exp.Expr) -> TextJoins:
    """All joins of a parsed query.

    >>> from planopt_assets.observe.sql.tokens import SPARK
    >>> found = text_joins(SPARK.parse("SELECT 1 FROM a, b JOIN (SELECT 2 FROM c JOIN d) e")[0])
    >>> [tuple(side and side.name for side in (j.left, j.right)) for j in found.joins]
    [(None, 'e'), ('a', 'b'), ('c', 'd')]
    """
    walk = _Walk()
    walk.query(tree, is_root=True)
    return walk.found


class _Walk:
    def __init__(self) -> None:
        self.found = TextJoins()

    def query(self, node: exp.Expr, *, is_root: bool = False) -> None:
        with_ = node.args.get("with_")
        if isinstance(with_, exp.With):
            if not is_root or with_.recursive:
                self._doubt("a WITH is recursive or inside another query")
            for cte in with_.expressions:
                self.query(cte.this)
        if isinstance(node, exp.Select):
            self._select(node)
        elif isinstance(node, exp.SetOperation):
            self.query(node.this)
            self.query(node.expression)
        elif isinstance(node, exp.Subquery):
            if node.args.get("joins"):
                self._doubt("a query in parentheses is joined without a SELECT")
            self.query(node.this)

    def _select(self, select: exp.Select) -> None:
        from_ = select.args.get("from_")
        if from_ is None:
            return
        number = len(self.found.names)
        self.found.names[number] = []
        self._count(self._joined(self._source(from_.this, number, reachable=True), select, number, reachable=True))

    def _count(self, source: _Source) -> None:
        if source.joined is not None:
            left, right = source.joined
            self.found.joins.append(TextJoin(left.input, right.input))
            self._count(left)
            self._count(right)
        elif source.query is not None:
            self.query(source.query)

    def _joined(self, left: _Source, owner: exp.Expr, number: int, *, reachable: bool) -> _Source:
        """Commas and joins have the same precedence in Spark: `a, b JOIN c` is `(a, b) JOIN c`."""
        for join in owner.args.get("joins") or ():
            # A lateral query is not a join in the plan, and its query is inside an expression.
            if not isinstance(join.this, exp.Lateral):
                left = _Source(None, joined=(left, self._source(join.this, number, reachable=reachable)))
        return left

    def _source(self, node: exp.Expr, number: int, *, reachable: bool) -> _Source:
        alias = node.args.get("alias")
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
            # Joins in parentheses. If they have an alias, no hint of this SELECT can reach inside.
            inside = self._source(node.this, number, reachable=reachable and not alias)
            if alias:
                inside = _Source(self._input(node, number, reachable), inside.query, inside.joined)
            return self._joined(inside, node, number, reachable=reachable)
        query = node.this if isinstance(node, exp.Subquery) else None
        return self._joined(_Source(self._input(node, number, reachable), query), node, number, reachable=reachable)

    def _input(self, node: exp.Expr, number: int, reachable: bool) -> Input | None:
        alias = node.args.get("alias")
        identifier = alias.this if isinstance(alias, exp.TableAlias) else None
        if identifier is None and isinstance(node, exp.Table):
            identifier = node.this
        start = identifier.meta.get("start") if isinstance(identifier, exp.Identifier) else None
        if identifier is None or not isinstance(start, int) or not reachable:
            return None
        self.found.names[number].append(identifier.name.lower())
        return Input(identifier.name.lower(), start, number)

    def _doubt(self, why: str) -> None:
        self.found.doubt = self.found.doubt or why
