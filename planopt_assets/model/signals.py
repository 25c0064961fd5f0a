"""What rules look at, read from an executed plan: shuffles, scans, joins, aggregations and stages, as they really were.

Everything here repeats: rows, bytes, files and tasks, never a time. The same inputs give the same signals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SideName = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A shuffle the planner may resize: how many partitions it planned and what went through it."""

    node: int
    partitions: int
    bytes_written: int
    rows: int | None = None
    smallest_bytes: int | None = None  # of its partitions
    median_bytes: int | None = None
    largest_bytes: int | None = None
    read_partitions: int | None = None  # after adaptive execution coalesced or split them
    feeds_join: bool = False


@dataclass(frozen=True, slots=True)
class Scan:
    """What one scan of a registered table read, and into how many tasks it was split."""

    node: int
    table: str
    files: int
    bytes: int
    splits: int
    table_bytes: int | None = None  # the whole table
    read_rows: int | None = None  # came out of the scan
    matched_rows: int | None = None  # were left after the predicates above it
    row_bytes: int | None = None  # the planner's width of one row of the columns read
    native: bool = True
    families: tuple[str, ...] = ()  # of its predicates, as in `scan_outcomes`
    causes: tuple[str, ...] = ()  # why predicates were not used, as in `scan_outcomes`
    runtime_filters: int = 0
    file_rows: int | None = None  # that the files it read hold
    normal_form: tuple[int, int] | None = None  # `observe/pushdown/normal_form.py`, of an OR that Parquet never saw


@dataclass(frozen=True, slots=True)
class JoinInput:
    """One input of a join: what it was thought to be, what it was, and how a hint can name it."""

    rows: int | None  # into a merge join from the same stage: no more than it took until the other input ended
    bytes: int | None  # as the planner reckons: rows times its width of a row
    estimated_bytes: int | None  # before anything ran
    shuffled: bool  # a shuffle was put in for this join
    tables: tuple[str, ...]  # registered tables it is made from, sorted
    aggregated: bool = False  # an aggregation lies between the join and its tables
    target: str = ""  # names it for a hint (`model/hint.py`); empty where no hint can reach it


@dataclass(frozen=True, slots=True)
class Join:
    """One join of the final plan, with the strategy it had when planning ended and the one it ended with."""

    node: int
    kind: str  # Inner, LeftOuter, …
    planned_strategy: str  # before anything ran; the same as `strategy` without adaptive execution
    strategy: str  # SortMergeJoin, ShuffledHashJoin, BroadcastHashJoin, …
    build: SideName | None
    left: JoinInput
    right: JoinInput
    rows: int | None  # came out of it

    def side(self, name: SideName) -> JoinInput:
        return self.left if name == "left" else self.right


@dataclass(frozen=True, slots=True)
class Aggregation:
    """A grouping done in two steps: rows into the partial step, rows out of it, and groups in the end."""

    node: int  # of the partial step
    rows_in: int | None
    rows_partial: int | None
    groups: int | None
    keys: int  # 0: one group over everything
    sorted_tasks: int | None = None  # of an object aggregation: tasks that gave up their hash map and sorted


@dataclass(frozen=True, slots=True)
class Spill:
    """An operator that did not fit into memory."""

    node: int
    kind: str  # Sort, HashAggregate, …
    bytes: int


@dataclass(frozen=True, slots=True)
class Stage:
    """What runs between two exchanges; `feeds` are the stages whose output it reads."""

    index: int
    feeds: tuple[int, ...]
    tasks: int
    rows: int  # from scans and shuffles
    files: int
    shuffle_partitions: int  # it writes into; 0 for the last stage and for broadcasts
    nodes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A Python function in the query, and its rung on the ladder of `model/udf.py`."""

    name: str
    rung: str
    uses: int
    rows: int | None = None  # that went through it
    returns: tuple[str, ...] = ()  # declared types, in the words of SQL


@dataclass(frozen=True, slots=True)
class Signals:
    """All signals of one execution; `node` is always a place in its final plan."""

    exchanges: tuple[Exchange, ...] = ()
    scans: tuple[Scan, ...] = ()
    joins: tuple[Join, ...] = ()
    aggregations: tuple[Aggregation, ...] = ()
    spills: tuple[Spill, ...] = ()
    stages: tuple[Stage, ...] = ()
    functions: tuple[PythonFunction, ...] = ()
