"""How much of each kind of work an execution did, or one stage of it: rows by kind of operator, bytes, files, tasks.

Counters tell most of it. What operators did with the rows, the signals of the plan tell. No time is among it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from planopt_assets.model.signals import Aggregation, Join, Scan, Stage

KIB = 1024
COUNTED = ("input_rows", "scan_files", "tasks", "shuffle_blocks", "shuffle_write_rows")
"""Counters that must be known: unknown is not zero."""


@dataclass(frozen=True, order=True, slots=True)
class Units:
    """Amounts of work. A row counts once for each operator that does something with it."""

    rows: int = 0  # out of scans
    decoded_kib: int = 0  # of the columns that scans read, by the planner's width of a row
    files: int = 0
    tasks: int = 0
    blocks: int = 0  # of shuffles: tasks times the partitions they write into
    shuffled_rows: int = 0  # written to a shuffle and read from it
    joined_rows: int = 0  # into joins, both inputs
    grouped_rows: int = 0  # into aggregations


class PlanSignals(Protocol):
    """What the plan of an execution showed: `Signals`, or the same as part of the evidence."""

    @property
    def scans(self) -> tuple[Scan, ...]: ...
    @property
    def joins(self) -> tuple[Join, ...]: ...
    @property
    def aggregations(self) -> tuple[Aggregation, ...]: ...
    @property
    def stages(self) -> tuple[Stage, ...]: ...


def execution_units(counted: Mapping[str, int | None], shown: PlanSignals) -> Units | None:
    """Of a whole execution. None: one of the counters in `COUNTED`, or the rows of an operator, are unknown."""
    known = {name: value for name in COUNTED if (value := counted[name]) is not None}
    told = _decoded(_that_ran(shown.scans)), _joined(shown.joins), _grouped(shown.aggregations)
    if len(known) < len(COUNTED) or any(None in each for each in told):
        return None
    decoded, joined, grouped = map(_sum, told)
    return Units(
        rows=known["input_rows"],
        decoded_kib=decoded // KIB,
        files=known["scan_files"],
        tasks=known["tasks"],
        blocks=known["shuffle_blocks"],
        shuffled_rows=known["shuffle_write_rows"],
        joined_rows=joined,
        grouped_rows=grouped,
    )


def stage_units(stage: Stage, shown: PlanSignals) -> Units:
    """Of one stage: what it reads, and what its operators do. An operator whose rows are unknown has all of the stage.

    So a bound is never too low for want of a counter. Rows that did not come out of its scans came out of shuffles. A
    stage that reads none has no such rows: a broadcast adds none to the stage that reads it.

    >>> from planopt_assets.model.signals import Signals
    >>> scan = Stage(0, (), tasks=12, rows=765_000, files=201, shuffle_partitions=200, nodes=(4,))
    >>> shown = Signals(scans=(Scan(4, "orders", files=201, bytes=0, splits=12, read_rows=765_000, row_bytes=16),))
    >>> units = stage_units(scan, shown)
    >>> units.rows, units.decoded_kib, units.files, units.tasks, units.blocks, units.shuffled_rows
    (765000, 11953, 201, 12, 2400, 0)
    >>> stage_units(Stage(1, (0,), tasks=2, rows=90_000, files=0, shuffle_partitions=0), shown).shuffled_rows
    90000
    """
    nodes = frozenset(stage.nodes)
    scans = [s for s in _that_ran(shown.scans) if s.node in nodes]
    known = min(stage.rows, sum(s.read_rows or 0 for s in scans))
    rest = stage.rows - known  # out of shuffles, or of scans that do not tell their rows
    scanned = known if _reads_shuffles(stage, shown.stages) else stage.rows
    untold = max((s.row_bytes or 0 for s in scans if s.read_rows is None), default=0)
    return Units(
        rows=scanned,
        decoded_kib=(_sum(_decoded(scans)) + rest * untold) // KIB,
        files=stage.files,
        tasks=stage.tasks,
        blocks=stage.tasks * stage.shuffle_partitions,
        shuffled_rows=stage.rows - scanned,
        joined_rows=_sum(_joined(j for j in shown.joins if j.node in nodes), stage.rows),
        grouped_rows=_sum(_grouped(a for a in shown.aggregations if a.node in nodes), stage.rows),
    )


def _decoded(scans: Iterable[Scan]) -> list[int | None]:
    """Bytes of each scan."""
    return [None if None in (s.read_rows, s.row_bytes) else (s.read_rows or 0) * (s.row_bytes or 0) for s in scans]


def _that_ran(scans: Sequence[Scan]) -> list[Scan]:
    """A scan below a reused shuffle did not: it has no task, and the files are those of another scan.

    One that read files of its own did, also where neither its tasks nor its rows were found.
    """
    told = [s for s in scans if s.read_rows is not None or s.splits]
    read = {(s.table, s.files, s.bytes, s.row_bytes) for s in told}
    return [s for s in scans if s in told or (s.files and (s.table, s.files, s.bytes, s.row_bytes) not in read)]


def _reads_shuffles(stage: Stage, stages: Iterable[Stage]) -> bool:
    """Broadcasts and sub-queries write into no partitions."""
    others = {s.index for s in stages if not s.shuffle_partitions}
    return any(index not in others for index in stage.feeds)


def _joined(joins: Iterable[Join]) -> list[int | None]:
    return [side.rows for join in joins for side in (join.left, join.right)]


def _grouped(aggregations: Iterable[Aggregation]) -> list[int | None]:
    return [a.rows_in for a in aggregations]


def _sum(amounts: Iterable[int | None], unknown: int = 0) -> int:
    return sum(unknown if amount is None else amount for amount in amounts)
