"""A SELECT over two relations in pieces. Each piece is an exact piece of the author's text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlglot.tokens import Token, TokenType


@dataclass(frozen=True, slots=True)
class Reference:
    """A column as it is written; `parts` are in lower case."""

    start: int
    end: int
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """An aggregate. Without an argument it is `count(*)` or `count(1)`."""

    start: int
    end: int
    function: str
    argument: Reference | None


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or view of FROM: its tokens with the alias, the tokens of its name, and the name that columns use."""

    start: int
    end: int
    name_end: int
    alias: str


@dataclass(frozen=True, slots=True)
class Conjunct:
    """A part of ON or WHERE that must hold by itself."""

    start: int
    end: int
    clause: Literal["on", "where"]
    references: tuple[Reference, ...]


@dataclass(frozen=True, slots=True)
class SelectBlock:
    """One SELECT. Positions are those of its tokens."""

    sql: str
    tokens: tuple[Token, ...]
    start: int
    is_left: bool  # LEFT JOIN; else an inner join
    relations: tuple[Relation, Relation]
    conjuncts: tuple[Conjunct, ...]
    calls: tuple[Call, ...]
    references: tuple[Reference, ...]  # outside of aggregates, ON and WHERE
    aliases: frozenset[str]  # of the SELECT list, in lower case

    @property
    def is_hinted(self) -> bool:
        return self.tokens[self.start + 1].token_type is TokenType.HINT

    def text(self, start: int, end: int) -> str:
        """The author's text of these tokens."""
        return self.sql[self.tokens[start].start : self.tokens[end - 1].end + 1]
