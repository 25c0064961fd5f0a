"""The names of a query: which are aliases, what each one refers to, and which must stay as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

Role = Literal["output", "relation", "expression"]
"""What the column names of a SELECT are: those of the result, those of a FROM item, or unused (`IN (SELECT …)`)."""


@dataclass(eq=False, slots=True)
class Definition:
    """An alias: the position where it is defined, and its name in lower case."""

    start: int
    name: str
    is_table: bool
    table: str = ""  # the registered table that the alias stands for; empty for any other alias


@dataclass(eq=False, slots=True)
class Column:
    """A column of a relation; the name is empty if only Spark knows it."""

    name: str
    definition: Definition | None = None  # the alias that named it; None for a column of a table
    spelling: str = ""
    data_type: str = ""
    passed_on: Column | None = None  # the column below, if this one is that column unchanged


@dataclass(eq=False, slots=True)
class Source:
    """An item of a FROM clause, or a CTE; `columns` is None if they are not known."""

    name: str | None
    definition: Definition | None
    columns: list[Column] | None
    hidden: bool = False  # the right side of a semi or anti join: only its ON clause can use it

    @property
    def closed(self) -> bool:
        return self.columns is not None and all(c.name for c in self.columns)

    def find(self, name: str) -> list[Column]:
        return [c for c in self.columns or () if c.name == name]


@dataclass(slots=True)
class Frame:
    """The sources of one SELECT; `parent` is the frame of the query around it."""

    parent: Frame | None
    ctes: Mapping[str, Source]  # the CTEs that a FROM clause here can name
    sources: list[Source] = field(default_factory=list)
    merged: bool = False  # USING or NATURAL: some columns belong to both sides of a join
    outputs: dict[str, Column] = field(default_factory=dict)  # the named columns of the SELECT list, as far as read
    distinct: bool = False  # SELECT DISTINCT


@dataclass(frozen=True, slots=True)
class Star:
    """The columns that a `*` of a SELECT list stands for, each with the source that qualifies it."""

    columns: tuple[tuple[Source, Column], ...]
    has_except: bool
    role: Role


@dataclass(slots=True)
class Names:
    """The names of a query by token position. A token without an entry is written as it is."""

    definitions: list[Definition] = field(default_factory=list)
    references: dict[int, Definition] = field(default_factory=dict)  # where an alias is defined, and where it is used
    known: dict[int, str] = field(default_factory=dict)  # tables and their columns, in lower case
    outputs: set[int] = field(default_factory=set)  # names of result columns: their spelling is kept
    verbatim: set[int] = field(default_factory=set)  # names that become data (struct fields): the spelling matters
    qualifiers: dict[int, Source] = field(default_factory=dict)  # write this qualifier before the token
    dropped: set[int] = field(default_factory=set)  # qualifiers to leave out, with their dot
    as_words: set[int] = field(default_factory=set)  # write `AS` before the token
    table_ends: dict[int, Definition] = field(default_factory=dict)  # write `AS alias` after the token
    output_ends: dict[int, str] = field(default_factory=dict)  # write `AS name` after the token if it is renamed
    stars: dict[int, Star] = field(default_factory=dict)
    kept_stars: list[list[str]] = field(default_factory=list)  # the columns behind the stars that stay in the text
    hints: list[tuple[int, Frame]] = field(default_factory=list)  # a position after the hint, and its SELECT's frame
    fixed: set[str] = field(default_factory=set)  # an alias with such a name is not renamed
    taken: set[str] = field(default_factory=set)  # columns of the tables: no alias is renamed to such a name

    def canonical(self) -> dict[Definition, str]:
        """The new name of every alias that may be renamed: `t0`, `t1`… and `c0`, `c1`…, in order of definition."""
        taken = self.fixed | self.taken | set(self.known.values()) | {n.lower() for n in self.output_ends.values()}
        free = {True: _free("t", taken), False: _free("c", taken)}
        ordered = sorted(self.definitions, key=lambda definition: definition.start)
        return {d: next(free[d.is_table]) for d in ordered if d.name not in self.fixed}


def _free(prefix: str, taken: set[str]) -> Iterator[str]:
    return (name for number in count() if (name := f"{prefix}{number}") not in taken)
