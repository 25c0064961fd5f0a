"""One scan of a table as data: what was asked of it, what the table offers, and how much was read in the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Place = Literal["partition", "data", "above", "join"]
Statistics = Literal["min_max", "null_count", "none"]


@dataclass(frozen=True, slots=True)
class Expression:
    """A predicate as a tree; `op` is Spark's class name, with `Column` and `Literal` for the leaves.

    >>> Expression("EqualTo", args=(Expression("Column", "id", "long"), Expression("Literal", "5", "long"))).columns
    ('id',)
    """

    op: str
    name: str = ""  # path of a column, text of a literal, name of a function
    type: str = ""  # where Spark tells: columns, literals, targets of casts
    args: tuple[Expression, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns it refers to, each once, in order of appearance."""
        own = (self.name,) if self.op == "Column" else ()
        return tuple(dict.fromkeys([*own, *(c for arg in self.args for c in arg.columns)]))

    def holds(self, *ops: str) -> bool:
        """Whether one of these operators is anywhere in the tree."""
        return self.op in ops or any(arg.holds(*ops) for arg in self.args)


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One predicate that every row must satisfy, and where it ended up.

    `partition` and `data` filters were handed to the scan, `above` stayed in an operator over it, `join` became one.
    """

    text: str
    expression: Expression
    place: Place
    inferred: bool = False  # an `IS NOT NULL` that Spark added because a join or another predicate needs it


@dataclass(frozen=True, slots=True)
class Size:
    """How much; None where nobody tells."""

    files: int | None = None
    bytes: int | None = None
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Funnel:
    """From the whole table to the rows that matched.

    `scanned` is what was left to read when planning ended, `read` what the run read: less under dynamic pruning.
    """

    total: Size = field(default_factory=Size)
    partition: Size = field(default_factory=Size)
    scanned: Size = field(default_factory=Size)
    read: Size = field(default_factory=Size)
    matched: Size = field(default_factory=Size)


@dataclass(frozen=True, slots=True)
class ScanFacts:
    """One scan of one registered table in one execution."""

    table: str
    version: int
    position: int  # among the scans of the plan, depth first
    file_index: str
    native: bool  # vectorised: Parquet columns become Spark batches without going through rows
    columns: tuple[str, ...]
    conjuncts: tuple[Conjunct, ...]
    pushed_filters: tuple[str, ...]  # as Spark hands them to Parquet
    skipping_filters: tuple[str, ...]  # what Delta compared with file statistics; columns in lower case
    unused_filters: tuple[str, ...]  # what Delta saw and could not use
    runtime_filters: tuple[str, ...]  # dynamic pruning and bloom filters, which other tables feed
    skipping_type: str  # Delta's own word for what it did; empty where it did not prepare the scan
    funnel: Funnel


@dataclass(frozen=True, slots=True)
class ColumnOffer:
    """What one leaf column lets a reader do."""

    path: str
    type: str
    statistics: Statistics
    partition: bool = False
    physical: str = ""  # path in the files, where column mapping makes it another one


@dataclass(frozen=True, slots=True)
class TableScanInfo:
    """What a table offers to predicates at one version."""

    table: str
    version: int
    columns: tuple[ColumnOffer, ...]
    clustered_by: tuple[str, ...] = ()
    files: int | None = None
    bytes: int | None = None

    def column(self, path: str) -> ColumnOffer | None:
        """By its path, in any case: Spark does not tell `ID` from `id`."""
        return next((c for c in self.columns if c.path.casefold() == path.casefold()), None)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        return tuple(c.path for c in self.columns if c.partition)


Level = Literal["nothing", "row groups", "files", "partitions"]
Status = Literal["pushed", "weakened", "missed", "residual"]
Outcome = Literal["full_pushdown", "expected_residual", "partial_pushdown", "pushdown_missed", "no_predicate"]


@dataclass(frozen=True, slots=True)
class ConjunctOutcome:
    """What became of one predicate; `docs/pushdown.md` defines every word."""

    text: str
    family: str
    place: Place
    could: Level  # as it is written, on this table
    used: Level
    status: Status
    cause: str = ""  # empty where it did all it could
    reason: str = ""
    fix: str = ""  # a setting, a table property or another way to write it; empty where nobody can help
    fixed_family: str = ""  # what it would be, once fixed


@dataclass(frozen=True, slots=True)
class Finding:
    """An avoidable cause that cost something: little was skipped, and few of the rows read were wanted."""

    predicate: str
    cause: str
    reason: str
    fix: str


@dataclass(frozen=True, slots=True)
class ScanOutcome:
    """The verdict on one scan."""

    table: str
    version: int
    position: int
    table_class: str
    outcome: Outcome
    reason: str
    conjuncts: tuple[ConjunctOutcome, ...]  # without what Spark inferred by itself
    runtime_filters: tuple[str, ...]
    pruned_share: float | None  # of the table's bytes, known after the run
    finding: Finding | None = None

    @property
    def families(self) -> tuple[str, ...]:
        return tuple(sorted({c.family for c in self.conjuncts}))
