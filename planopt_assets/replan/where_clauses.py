"""The WHERE predicates of a query's text: how AND and OR join their parts, and which parts are plain comparisons.

They are read from tokens, so each part is an exact piece of the author's text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlglot.tokens import Token, TokenType

from planopt_assets.observe.sql.tokens import NotCanonical, closing, own_tokens, spark_tokens

T = TokenType
_ENDS = frozenset(
    {
        *(T.GROUP_BY, T.HAVING, T.ORDER_BY, T.SORT_BY, T.CLUSTER_BY, T.DISTRIBUTE_BY, T.LIMIT, T.OFFSET, T.WINDOW),
        *(T.QUALIFY, T.UNION, T.EXCEPT, T.INTERSECT, T.PIPE_GT, T.SEMICOLON, T.LATERAL),
    }
)
# One letter per kind of token, so that a regular expression can match a plain comparison.
_LETTERS = {
    T.VAR: "n", T.IDENTIFIER: "n", T.DOT: ".", T.STRING: "v", T.NUMBER: "v", T.TRUE: "v", T.FALSE: "v", T.DASH: "-",
    T.EQ: "c", T.NULLSAFE_EQ: "c", T.LT: "c", T.LTE: "c", T.GT: "c", T.GTE: "c", T.IN: "i", T.BETWEEN: "b", T.AND: "&",
    T.IS: "s", T.NOT: "!", T.NULL: "0", T.L_PAREN: "(", T.R_PAREN: ")", T.COMMA: ",", T.DATE: "d", T.TIMESTAMP: "d",
    T.COLON: ":",
}  # fmt: skip
_COLUMN, _VALUE = r"(?P<column>n(?:\.n)*)", r"(?:-?v|dv|:n)"
_PLAIN = (
    re.compile(rf"{_COLUMN}(?:c{_VALUE}|i\({_VALUE}(?:,{_VALUE})*\)|b{_VALUE}&{_VALUE}|s!?0)"),
    re.compile(rf"{_VALUE}c{_COLUMN}"),
)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A part without AND and OR. `column` is set if the part compares a column with a value."""

    text: str
    column: str = ""

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return (self,)

    @property
    def shape(self) -> object:
        return "leaf"


@dataclass(frozen=True, slots=True)
class Condition:
    """Parts joined by one operator. No part is itself joined by the same operator."""

    op: Literal["and", "or"]
    parts: tuple[Condition | Leaf, ...]

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return tuple(leaf for part in self.parts for leaf in part.leaves)

    @property
    def shape(self) -> object:
        return (self.op, [part.shape for part in self.parts])


@dataclass(frozen=True, slots=True)
class Where:
    """A predicate with an AND or an OR, and its place in the text."""

    start: int
    end: int
    text: str
    condition: Condition


def where_clauses(sql: str) -> list[Where]:
    """All WHERE clauses with more than one part, in text order.

    >>> [one] = where_clauses("SELECT a FROM t WHERE a = 1 AND (b < 2 OR f(b)) GROUP BY a")
    >>> one.text, [leaf.column for leaf in one.condition.leaves]
    ('a = 1 AND (b < 2 OR f(b))', ['a', 'b', ''])
    """
    spark_tokens(sql)  # refuses text that Spark may read differently
    tokens = own_tokens(sql)
    found = []
    for at, token in enumerate(tokens):
        if token.token_type is T.WHERE and not (at > 1 and tokens[at - 2].token_type is T.FILTER):
            inside = tokens[at + 1 : _end(tokens, at + 1)]
            condition = _Reader(sql, inside).read() if inside else None
            if isinstance(condition, Condition):
                start, end = inside[0].start, inside[-1].end + 1
                found.append(Where(start, end, sql[start:end], condition))
    return found


def _end(tokens: Sequence[Token], at: int) -> int:
    depth = 0
    while at < len(tokens):
        kind = tokens[at].token_type
        depth += (kind is T.L_PAREN) - (kind is T.R_PAREN)
        if depth < 0 or (depth == 0 and kind in _ENDS):
            break
        at += 1
    return at


class _Reader:
    """Precedence: OR is lowest, then AND, then all others. Parentheses around a whole part are removed."""

    def __init__(self, sql: str, tokens: Sequence[Token]) -> None:
        self.sql = sql
        self.tokens = tokens

    def read(self) -> Condition | Leaf:
        return self._joined("or", 0, len(self.tokens))

    def _joined(self, op: Literal["and", "or"], start: int, end: int) -> Condition | Leaf:
        word = T.OR if op == "or" else T.AND
        cuts = [at for at in outside_parentheses(self.tokens, start, end) if self.tokens[at].token_type is word]
        if not cuts:
            return self._joined("and", start, end) if op == "or" else self._part(start, end)
        parts: list[Condition | Leaf] = []
        for low, high in zip([start, *(c + 1 for c in cuts)], [*cuts, end], strict=True):
            part = self._joined("and", low, high) if op == "or" else self._part(low, high)
            parts += part.parts if isinstance(part, Condition) and part.op == op else [part]
        return Condition(op, tuple(parts))

    def _part(self, start: int, end: int) -> Condition | Leaf:
        if start >= end:
            raise NotCanonical("a condition has no end")
        if self._encloses(start, end):
            return self._joined("or", start + 1, end - 1)
        tokens = self.tokens[start:end]
        letters = "".join(_LETTERS.get(t.token_type, "?") for t in tokens)
        text = self.sql[tokens[0].start : tokens[-1].end + 1]
        plain = next((found for pattern in _PLAIN if (found := pattern.fullmatch(letters))), None)
        if plain is None or "--" in text or "/*" in text:
            return Leaf(text)
        low, high = plain.span("column")
        return Leaf(text, "".join(t.text.lower() for t in tokens[low:high]))

    def _encloses(self, start: int, end: int) -> bool:
        """Whether the part is a condition in one pair of parentheses, and not a sub-query."""
        if self.tokens[start].token_type is not T.L_PAREN or self.tokens[end - 1].token_type is not T.R_PAREN:
            return False
        if self.tokens[start + 1].token_type in (T.SELECT, T.WITH, T.FROM, T.VALUES):
            return False
        return closing(self.tokens, start) == end - 1


def outside_parentheses(tokens: Sequence[Token], start: int, end: int) -> Iterator[int]:
    """Positions outside parentheses and CASE, without the AND of a BETWEEN."""
    depth, between = 0, 0
    for at in range(start, end):
        kind = tokens[at].token_type
        opened = kind in (T.L_PAREN, T.L_BRACKET, T.CASE)
        depth += opened - (kind in (T.R_PAREN, T.R_BRACKET, T.END))
        if depth or opened:
            continue
        between += kind is T.BETWEEN
        if kind is T.AND and between:
            between -= 1
        else:
            yield at
