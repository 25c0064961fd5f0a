"""Reads every SELECT of a text that is an aggregation over a join of two relations, from its tokens.

The grammar is closed: columns, literals, parameters, operators, CASE, and the aggregates count, sum, min and max of one
column. Whatever else is in a SELECT (another function, a window, a sub-query, DISTINCT, ROLLUP) makes it unreadable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from sqlglot.tokens import Token, TokenType

from planopt_assets.observe.sql.tokens import NotCanonical, closing, kinds, own_tokens, spark_tokens
from planopt_assets.replan.select_block import Call, Conjunct, Reference, Relation, SelectBlock
from planopt_assets.replan.where_clauses import outside_parentheses

T = TokenType
AGGREGATES = ("count", "max", "min", "sum")

_NAMES = kinds("VAR IDENTIFIER")
_VALUES = kinds("STRING NUMBER TRUE FALSE NULL")
_TYPED = kinds("DATE TIMESTAMP")  # only before a string: DATE '2024-01-01'
_OPERATORS = kinds("PLUS DASH SLASH MOD DPIPE EQ NEQ LT LTE GT GTE AND OR NOT IS IN BETWEEN LIKE")
_OTHERS = kinds("COMMA L_PAREN R_PAREN CASE WHEN THEN ELSE END ASC DESC")
_OPERANDS = _NAMES | _VALUES | {T.R_PAREN, T.END}  # what an expression can end with
_CLAUSES = (T.SELECT, T.FROM, T.WHERE, T.GROUP_BY, T.HAVING, T.ORDER_BY, T.LIMIT)
_ENDS = kinds("UNION EXCEPT INTERSECT SEMICOLON")
_LETTERS = {
    **dict.fromkeys(_NAMES, "n"), T.DOT: ".", T.ALIAS: "a", T.COMMA: ",", T.INNER: "i", T.LEFT: "l", T.OUTER: "o",
    T.JOIN: "j", T.ON: "c",
}  # fmt: skip
_RELATION = r"(?P<{0}>(?P<{0}_name>n(?:\.n)*)(?:a?(?P<{0}_alias>n))?)"
_FROM = re.compile(
    _RELATION.format("left") + r"(?:(?P<comma>,)|(?P<outer>lo?)?i?j)" + _RELATION.format("right") + r"(?:c(?P<on>.+))?"
)


def select_blocks(sql: str) -> list[SelectBlock]:
    """Every SELECT of a text that is an aggregation over a join of two relations and can be read.

    >>> [one] = select_blocks("SELECT a.k, count(b.x) AS n FROM a LEFT JOIN b ON a.k = b.k AND b.y > 1 GROUP BY a.k")
    >>> [one.text(c.start, c.end) for c in (*one.relations, *one.conjuncts, *one.calls)]
    ['a', 'b', 'a.k = b.k', 'b.y > 1', 'count(b.x)']
    """
    spark_tokens(sql)  # refuses text that Spark may read differently
    tokens = tuple(own_tokens(sql))
    found = []
    for at, token in enumerate(tokens):
        if token.token_type is T.SELECT:
            try:
                found.append(_Reader(sql, tokens, at).read())
            except NotCanonical:
                continue
    return found


class _Reader:
    def __init__(self, sql: str, tokens: tuple[Token, ...], start: int) -> None:
        self.sql, self.tokens, self.start = sql, tokens, start
        self.end = _end(tokens, start)
        self.references: list[Reference] = []
        self.calls: list[Call] = []

    def read(self) -> SelectBlock:
        clauses = self._clauses()
        aliases = self._select_list(*clauses[T.SELECT])
        is_left, relations, on = self._from(*clauses[T.FROM])
        for clause in (T.GROUP_BY, T.HAVING, T.ORDER_BY):
            if clause in clauses:
                self._expression(*clauses[clause], calls=clause is not T.GROUP_BY)
        if T.LIMIT in clauses and self._kinds(*clauses[T.LIMIT]) != [T.NUMBER]:
            raise NotCanonical("a LIMIT is not a number")
        conjuncts = [*self._conjuncts(on, "on"), *self._conjuncts(clauses.get(T.WHERE), "where")]
        if not self.calls:
            raise NotCanonical("it has no aggregate")
        return SelectBlock(
            self.sql,
            self.tokens,
            self.start,
            is_left,
            relations,
            tuple(conjuncts),
            tuple(self.calls),
            tuple(self.references),
            frozenset(aliases),
        )

    def _kinds(self, start: int, end: int) -> list[TokenType]:
        return [token.token_type for token in self.tokens[start:end]]

    def _clauses(self) -> dict[TokenType, tuple[int, int]]:
        """The tokens of each clause without its keyword. Each is there at most once, in the order of the language."""
        heads = [at for at in self._outside(self.start, self.end) if self.tokens[at].token_type in _CLAUSES]
        found = [self.tokens[at].token_type for at in heads]
        if found != [kind for kind in _CLAUSES if kind in found] or T.FROM not in found:
            raise NotCanonical("its clauses are not those of a plain SELECT")
        spans = zip([at + 1 for at in heads], [*heads[1:], self.end], strict=True)
        return dict(zip(found, spans, strict=True))

    def _outside(self, start: int, end: int) -> Iterator[int]:
        return outside_parentheses(self.tokens, start, end)

    def _select_list(self, start: int, end: int) -> set[str]:
        """Reads the items. An item that an aggregate is in must have a name: Spark would name it by its text."""
        if start < end and self.tokens[start].token_type is T.HINT:
            start += 1
        cuts = [at for at in self._outside(start, end) if self.tokens[at].token_type is T.COMMA]
        items = list(zip([start, *(at + 1 for at in cuts)], [*cuts, end], strict=True))
        aliases, unnamed = set(), False
        for first, last in items:
            before = len(self.calls)
            cut = self._alias(first, last)
            self._expression(first, cut, calls=True)
            if cut < last:
                aliases.add(self.tokens[last - 1].text.lower())
            elif len(self.calls) > before:
                unnamed = True
        if unnamed and not self._named_outside(len(items)):
            raise NotCanonical("an aggregate of the SELECT list has no name")
        return aliases

    def _alias(self, start: int, end: int) -> int:
        """Where the alias of an item begins; its end if it has none."""
        if end - start < 2 or self.tokens[end - 1].token_type not in _NAMES:
            return end
        before = self.tokens[end - 2].token_type
        if before is T.ALIAS:
            return end - 2
        return end - 1 if before in _OPERANDS else end

    def _named_outside(self, items: int) -> bool:
        """Whether the SELECT is a derived table with names for its columns: `(SELECT …) AS t (a, b)`."""
        if self.start == 0 or self.end >= len(self.tokens) or self.tokens[self.start - 1].token_type is not T.L_PAREN:
            return False
        if closing(self.tokens, self.start - 1) != self.end:
            return False
        at = self.end + 1 + (self._kinds(self.end + 1, self.end + 2) == [T.ALIAS])
        names = self._kinds(at, at + 2 * items + 2)
        shape = [T.VAR if kind in _NAMES else kind for kind in names]
        return shape == [T.VAR, T.L_PAREN, *([T.COMMA, T.VAR] * items)[1:], T.R_PAREN]

    def _from(self, start: int, end: int) -> tuple[bool, tuple[Relation, Relation], tuple[int, int] | None]:
        letters = "".join(_LETTERS.get(kind, "?") for kind in self._kinds(start, end))
        found = _FROM.fullmatch(letters)
        if found is None or (found["comma"] is None) == (found["on"] is None):
            raise NotCanonical("FROM is not a plain join of two relations")

        def relation(side: str) -> Relation:
            first, last = found.span(side)
            name_end, alias_at = found.end(f"{side}_name"), found.start(f"{side}_alias")
            named = self.tokens[start + (alias_at if alias_at >= 0 else name_end - 1)]
            return Relation(start + first, start + last, start + name_end, named.text.lower())

        low, high = found.span("on")
        on = (start + low, start + high) if found["on"] else None
        return found["outer"] is not None, (relation("left"), relation("right")), on

    def _conjuncts(self, span: tuple[int, int] | None, clause: Literal["on", "where"]) -> Iterator[Conjunct]:
        if span is None:
            return
        start, end = span
        outside = list(self._outside(start, end))
        cuts = [at for at in outside if self.tokens[at].token_type is T.AND]
        if any(self.tokens[at].token_type is T.OR for at in outside):
            cuts = []  # AND binds closer: only the whole condition must hold
        for low, high in zip([start, *(at + 1 for at in cuts)], [*cuts, end], strict=True):
            before = len(self.references)
            self._expression(low, high, calls=False)
            found = tuple(self.references[before:])
            del self.references[before:]
            yield Conjunct(low, high, clause, found)

    def _expression(self, start: int, end: int, *, calls: bool) -> None:
        """Notes all columns and aggregates of a list of expressions. Raises where it holds anything else."""
        if start >= end:
            raise NotCanonical("an expression is empty")
        at = start
        while at < end:
            token, before = self.tokens[at], self.tokens[at - 1].token_type if at > start else None
            kind, then = token.token_type, self.tokens[at + 1].token_type if at + 1 < end else None
            if kind in _NAMES and before not in _OPERANDS:
                at = self._name(at, end, calls=calls)
                continue
            if kind is T.COLON and before not in _OPERANDS and then is T.VAR:
                at += 2  # a parameter
                continue
            typed = kind in _TYPED and then is T.STRING
            value = kind in _VALUES and before not in _OPERANDS and not self._text(at).startswith('"')
            product = kind is T.STAR and before in _OPERANDS
            if not (typed or value or product or kind in _OPERATORS | _OTHERS):
                raise NotCanonical(f"`{token.text}` is not read")
            at += 1

    def _text(self, at: int) -> str:
        return self.sql[self.tokens[at].start : self.tokens[at].end + 1]

    def _name(self, at: int, end: int, *, calls: bool) -> int:
        """Reads a column or an aggregate. Returns the position after it."""
        column = self._reference(at, end)
        if column.end >= end or self.tokens[column.end].token_type is not T.L_PAREN:
            self.references.append(column)
            return column.end
        function = self.tokens[at].text.lower()
        plain = len(column.parts) == 1 and self.tokens[at].token_type is T.VAR and function in AGGREGATES
        if not plain or not calls:
            raise NotCanonical(f"`{function}` is not an aggregate that is read")
        inside, after = column.end + 1, closing(self.tokens, column.end) + 1
        argument = None
        if self.tokens[inside].token_type in _NAMES:
            argument = self._reference(inside, end)
            complete = argument.end + 1 == after
        else:
            complete = function == "count" and after == inside + 2 and self._text(inside) in ("*", "1")
        if not complete:
            raise NotCanonical(f"`{function}` is not of one column")
        self.calls.append(Call(at, after, function, argument))
        return after

    def _reference(self, at: int, end: int) -> Reference:
        last = at + 1
        while last + 1 < end and self.tokens[last].token_type is T.DOT and self.tokens[last + 1].token_type in _NAMES:
            last += 2
        parts = tuple(token.text.lower() for token in self.tokens[at:last:2])
        return Reference(at, last, parts)


def _end(tokens: Sequence[Token], start: int) -> int:
    """Where the SELECT ends: at a parenthesis that it did not open, or at a set operation."""
    depth = 0
    for at in range(start, len(tokens)):
        kind = tokens[at].token_type
        depth += (kind is T.L_PAREN) - (kind is T.R_PAREN)
        if depth < 0 or (depth == 0 and kind in _ENDS):
            return at
    if depth:
        raise NotCanonical("a parenthesis has no end")
    return len(tokens)
