"""What is known about the names of a query: which are aliases, what each of them refers to, which must stay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

Role = Literal["output", "relation", "expression"]
"""What the names of a SELECT are: the result's columns, those of a FROM item, or nobody's (`IN (SELECT …)`)."""


@dataclass(eq=False, slots=True)
class Definition:
    """An alias: where it is defined, and how it is called there, in lower case."""

    start: int
    name: str
    is_table: bool
    table: str = ""  # the registered table it stands for, if it does


@dataclass(eq=False, slots=True)
class Column:
    """A column as a relation shows it; without a name where only Spark knows it."""

    name: str
    definition: Definition | None = None  # the alias that named it; None for a column of a table
    spelling: str = ""
    data_type: str = ""
    passed_on: Column | None = None  # the column below that this one only hands up


@dataclass(eq=False, slots=True)
class Source:
    """An item of a FROM clause; `columns` is None where they are not known."""

    name: str | None
    definition: Definition | None
    columns: list[Column] | None
    hidden: bool = False  # the right side of a semi or anti join: only its ON clause sees it

    @property
    def closed(self) -> bool:
        return self.columns is not None and all(c.name for c in self.columns)

    def find(self, name: str) -> list[Column]:
        return [c for c in self.columns or () if c.name == name]


@dataclass(slots=True)
class Frame:
    """The sources of one SELECT, inside those of the query around it."""

    parent: Frame | None
    sources: list[Source] = field(default_factory=list)
    merged: bool = False  # by USING or NATURAL: some columns belong to both sides


@dataclass(frozen=True, slots=True)
class Star:
    """The columns that a `*` of a SELECT list stands for, each with the source that qualifies it."""

    columns: tuple[tuple[Source, Column], ...]
    has_except: bool
    role: Role


@dataclass(slots=True)
class Names:
    """The names of a query by the position of their tokens; a token that is nowhere in here stays as it is written."""

    definitions: list[Definition] = field(default_factory=list)
    references: dict[int, Definition] = field(default_factory=dict)  # where an alias is defined, and where it is used
    known: dict[int, str] = field(default_factory=dict)  # tables and their columns, in lower case
    outputs: set[int] = field(default_factory=set)  # names a column of the result: spelled as here
    verbatim: set[int] = field(default_factory=set)  # the spelling goes into data
    qualifiers: dict[int, Source] = field(default_factory=dict)  # to be written before this token
    dropped: set[int] = field(default_factory=set)  # qualifiers that go, with their dot
    as_words: set[int] = field(default_factory=set)  # `AS` belongs before this token
    table_ends: dict[int, Definition] = field(default_factory=dict)  # `AS alias` belongs after this token
    output_ends: dict[int, str] = field(default_factory=dict)  # `AS name`, if the token itself is renamed
    stars: dict[int, Star] = field(default_factory=dict)
    kept_stars: list[list[str]] = field(default_factory=list)  # columns behind the stars that stay in the text
    hints: list[tuple[int, Frame]] = field(default_factory=list)  # a position behind the hint, and what it may name
    fixed: set[str] = field(default_factory=set)  # no alias of such a name is renamed
    taken: set[str] = field(default_factory=set)  # columns of the tables that are read: no alias gets such a name

    def canonical(self) -> dict[Definition, str]:
        """The canonical name of every alias that may be renamed: `t0`, `t1`… and `c0`, `c1`… as they are defined."""
        taken = self.fixed | self.taken | set(self.known.values()) | {n.lower() for n in self.output_ends.values()}
        free = {True: _free("t", taken), False: _free("c", taken)}
        ordered = sorted(self.definitions, key=lambda definition: definition.start)
        return {d: next(free[d.is_table]) for d in ordered if d.name not in self.fixed}


def _free(prefix: str, taken: set[str]) -> Iterator[str]:
    number = 0
    while True:
        if f"{prefix}{number}" not in taken:
            yield f"{prefix}{number}"
        number += 1
