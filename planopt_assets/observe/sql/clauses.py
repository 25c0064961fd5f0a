"""Cuts a canonical text into items: predicates, projections, joins, sort keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from sqlglot.tokens import Token, TokenType

from planopt_assets.observe.sql.tokens import QUERY_STARTS, closing, kinds, spark_tokens

_PARTS = {
    "projection": "SELECT",
    "table": "FROM LATERAL",
    "predicate": "WHERE HAVING QUALIFY",
    "grouping": "GROUP_BY",
    "order": "ORDER_BY SORT_BY CLUSTER_BY DISTRIBUTE_BY",
    "limit": "LIMIT OFFSET",
    "window": "WINDOW",
    "literal": "VALUES",
    "with": "WITH",
    "join": "ON USING",
}
_CLAUSES = {kind: part for part, names in _PARTS.items() for kind in kinds(names)}
_JOIN_WORDS = kinds("JOIN INNER LEFT RIGHT FULL CROSS SEMI ANTI NATURAL OUTER")
_SET_WORDS = kinds("UNION EXCEPT INTERSECT")
_BY_CONJUNCT = frozenset({"predicate", "join"})
_SAID_BY_PART = kinds("SELECT FROM WHERE ON GROUP_BY ORDER_BY WITH VALUES")  # the name of the part says this word
_APART = frozenset(
    {"IN", "AND", "OR", "NOT", "ON", "AS", "EXISTS", "ANY", "ALL", "OVER", "FILTER", "JOIN", "USING", "TABLESAMPLE"}
)


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a query block; `text` is exact, `short` is easier to read."""

    part: str
    text: str
    short: str


@dataclass(slots=True)
class Block:
    """The items of one SELECT, in order; `name` is `the query`, `WITH x` or `sub-query 1`."""

    name: str
    items: list[Item] = field(default_factory=list)


def query_blocks(text: str) -> list[Block]:
    """Cut a text into blocks. A query inside another query is its own block; its place shows `(…)`.

    >>> [block] = query_blocks("SELECT `t0`.`a` FROM `x` AS `t0` WHERE `t0`.`a` < 2 AND `t0`.`b` BETWEEN 1 AND 3")
    >>> [(item.part, item.short) for item in block.items]
    [('projection', 'a'), ('table', 'x'), ('predicate', 'a < 2'), ('predicate', 'b BETWEEN 1 AND 3')]
    """
    flat, tokens = spark_tokens(text)
    cutter = _Cutter(flat, tokens)
    cutter.block("the query", 0, len(tokens))
    return cutter.blocks


class _Cutter:
    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.blocks: list[Block] = []
        self._subqueries = 0

    def block(self, name: str, start: int, end: int) -> None:
        """Cut the tokens from `start` to `end` into items. Each clause keyword starts a new part."""
        block = Block(name)
        self.blocks.append(block)
        part = "table"
        words: list[str] = []
        cases = betweens = 0  # the AND of CASE … END or of BETWEEN does not separate items
        at = start
        while at < end:
            kind = self.tokens[at].token_type
            before = self.tokens[at - 1].token_type if at > start else None
            if kind is TokenType.HINT:
                block.items.append(Item("hint", self._raw(at), self._raw(at)))
            elif kind in _SET_WORDS and before is not TokenType.STAR:
                words = self._close(block, part, words)
                part, words = "set operation", [self._raw(at)]
            elif kind in _JOIN_WORDS and self._begins_join(at, end):
                if before not in _JOIN_WORDS:
                    words = self._close(block, part, words)
                part = "join"
                words.append(self._raw(at))
            elif kind in _CLAUSES and self._begins_clause(kind, before):
                words = self._close(block, part, words)
                part = _CLAUSES[kind]
                words = [] if kind in _SAID_BY_PART else [self._raw(at)]
            elif (kind is TokenType.COMMA and part not in ("limit", "join")) or (
                kind is TokenType.AND and part in _BY_CONJUNCT and not cases and not betweens
            ):
                words = self._close(block, part, words)
            elif kind is TokenType.L_PAREN:
                at = self._parenthesis(at, words, part) - 1
            elif kind is not TokenType.RECURSIVE:
                cases += (kind is TokenType.CASE) - (kind is TokenType.END)
                betweens += (kind is TokenType.BETWEEN) - (kind is TokenType.AND and betweens > 0)
                words.append(self._raw(at))
            at += 1
        self._close(block, part, words)

    def _begins_clause(self, kind: TokenType, before: TokenType | None) -> bool:
        """False for the FROM of `IS DISTINCT FROM` and for the LATERAL of a join."""
        if kind is TokenType.FROM:
            return before is not TokenType.DISTINCT
        return kind is not TokenType.LATERAL or before not in (TokenType.COMMA, *_JOIN_WORDS)

    def _begins_join(self, at: int, end: int) -> bool:
        """True for `LEFT JOIN`, false for the function `left(…)`."""
        while at < end and self.tokens[at].token_type in _JOIN_WORDS:
            if self.tokens[at].token_type is TokenType.JOIN:
                return True
            at += 1
        return False

    def _parenthesis(self, at: int, words: list[str], part: str) -> int:
        """Add a parenthesis to its item, or a block if it holds a query. Returns the index after it."""
        end = closing(self.tokens, at)
        first = at + 1
        while self.tokens[first].token_type is TokenType.L_PAREN:
            first += 1
        if self.tokens[first].token_type in QUERY_STARTS:
            name = f"WITH {_plain(words[0])}" if part == "with" else self._next_name()
            words.append("(…)")
            self.block(name, at + 1, end)
        else:
            words.extend(self._flat(at, end + 1))
        return end + 1

    def _flat(self, start: int, end: int) -> Iterator[str]:
        """The words of a parenthesis. Queries inside it become blocks too."""
        at = start
        while at < end:
            inner = at + 1 < end and self.tokens[at + 1].token_type in QUERY_STARTS
            if self.tokens[at].token_type is TokenType.L_PAREN and inner and at > start:
                end_of_it = closing(self.tokens, at)
                self.block(self._next_name(), at + 1, end_of_it)
                yield "(…)"
                at = end_of_it + 1
            else:
                yield self._raw(at)
                at += 1

    def _next_name(self) -> str:
        self._subqueries += 1
        return f"sub-query {self._subqueries}"

    def _raw(self, at: int) -> str:
        token = self.tokens[at]
        return self.text[token.start : token.end + 1]

    def _close(self, block: Block, part: str, words: list[str]) -> list[str]:
        """Add an item. Returns the (empty) word list of the next one."""
        if words:
            part = "table" if part == "with" else part
            text = _joined([_plain(word) for word in words])
            short = words[:-2] if part in ("table", "join") and words[-2:-1] == ["AS"] else words
            # Qualifiers are left out if there is only one.
            unclear = len({word for word, dot in pairwise(words) if dot == "." and word.startswith("`")}) > 1
            block.items.append(Item(part, text, text if unclear else _joined(_without_qualifiers(short))))
        return []


def _without_qualifiers(words: list[str]) -> list[str]:
    """`` `t`.`a` `` becomes `a`."""
    kept: list[str] = []
    for word in words:
        if word == "." and kept and kept[-1].startswith("`"):
            kept.pop()
        else:
            kept.append(word)
    return [_plain(word) for word in kept]


def _plain(word: str) -> str:
    bare = word[1:-1]
    return bare if word.startswith("`") and bare.isidentifier() else word


def _joined(words: list[str]) -> str:
    """The words with the usual spaces: `SUM(a) + b[0] IN (1, 2)`."""
    text = ""
    last = ""
    for word in words:
        calls = word in ("(", "[") and (last.isidentifier() or last.endswith(("`", "]"))) and last not in _APART
        close = not text or word in (",", ")", "]", ".", "::") or last in ("(", "[", ".", ":", "::") or calls
        text += word if close else f" {word}"
        last = word
    return text
