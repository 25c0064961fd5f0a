"""The signals that rules read from an executed plan: shuffles, scans, joins, aggregations, stages.

All signals are deterministic: rows, bytes, files and tasks, never a time. The same inputs give the same signals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

SideName = Literal["left", "right"]
SIDES: Final[tuple[SideName, SideName]] = ("left", "right")
OTHER: Final[dict[SideName, SideName]] = {"left": "right", "right": "left"}


@dataclass(frozen=True, slots=True)
class Exchange:
    """A shuffle that may be resized: its planned partitions, and the data that went through it."""

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
    """What one scan of a registered table read, and the number of its tasks."""

    node: int
    table: str
    files: int
    bytes: int
    splits: int
    table_bytes: int | None = None  # the whole table
    read_rows: int | None = None  # output rows of the scan
    matched_rows: int | None = None  # rows left after the predicates above it
    row_bytes: int | None = None  # the planner's row width for the columns read
    native: bool = True
    families: tuple[str, ...] = ()  # of its predicates, as in `scan_outcomes`
    causes: tuple[str, ...] = ()  # why predicates were not used, as in `scan_outcomes`
    runtime_filters: int = 0
    file_rows: int | None = None  # rows in the files it read
    normal_form: tuple[int, int] | None = None  # of an OR that was not pushed: `observe/pushdown/normal_form.py`


@dataclass(frozen=True, slots=True)
class JoinInput:
    """One input of a join: its estimated size, its actual size, and its name for a hint."""

    rows: int | None  # a merge join in the same stage stops reading when the other input ends: only rows read so far
    bytes: int | None  # rows times the planner's row width
    estimated_bytes: int | None  # before execution
    shuffled: bool  # a shuffle was added for this join
    tables: tuple[str, ...]  # registered tables behind it, sorted
    aggregated: bool = False  # an aggregation is between the join and its tables
    target: str = ""  # its name for a hint (`model/hint.py`); empty if no hint can reach it
    groupable: bool = False  # the rewrite `aggregate_before_join` can group its rows before the join


@dataclass(frozen=True, slots=True)
class Join:
    """One join of the final plan, with its planned strategy and its final strategy."""

    node: int
    kind: str  # Inner, LeftOuter, …
    planned_strategy: str  # before execution; equal to `strategy` without adaptive execution
    strategy: str  # SortMergeJoin, ShuffledHashJoin, BroadcastHashJoin, …
    build: SideName | None
    left: JoinInput
    right: JoinInput
    rows: int | None  # output rows

    def side(self, name: SideName) -> JoinInput:
        return self.left if name == "left" else self.right


@dataclass(frozen=True, slots=True)
class Aggregation:
    """A two-step aggregation: input rows of the partial step, its output rows, and the final groups."""

    node: int  # of the partial step
    rows_in: int | None
    rows_partial: int | None
    groups: int | None
    keys: int  # 0: one group over all rows
    sorted_tasks: int | None = None  # of an object aggregation: tasks that fell back from hash map to sort


@dataclass(frozen=True, slots=True)
class Spill:
    """An operator that did not fit into memory."""

    node: int
    kind: str  # Sort, HashAggregate, …
    bytes: int


@dataclass(frozen=True, slots=True)
class Stage:
    """The part of a plan between two exchanges. `feeds` are the stages whose output it reads."""

    index: int
    feeds: tuple[int, ...]
    tasks: int
    rows: int  # from scans and shuffles
    files: int
    shuffle_partitions: int  # partitions it writes; 0 for the last stage and for broadcasts
    nodes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A Python function in the query, and its rung on the ladder in `model/udf.py`."""

    name: str
    rung: str
    uses: int
    rows: int | None = None  # rows that went through it
    returns: tuple[str, ...] = ()  # declared types, as SQL type names


@dataclass(frozen=True, slots=True)
class Signals:
    """All signals of one execution. `node` is always a position in its final plan."""

    exchanges: tuple[Exchange, ...] = ()
    scans: tuple[Scan, ...] = ()
    joins: tuple[Join, ...] = ()
    aggregations: tuple[Aggregation, ...] = ()
    spills: tuple[Spill, ...] = ()
    stages: tuple[Stage, ...] = ()
    functions: tuple[PythonFunction, ...] = ()
    plan_dependent: tuple[str, ...] = ()  # what in the query another plan may answer in another way
