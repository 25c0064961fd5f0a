"""How much of each kind of work an execution did, or one stage of it: rows by kind of operator, files, tasks, blocks.

Counters tell most of it. What operators did with the rows, the signals of the plan tell. No time is among it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from planopt_assets.model.signals import Aggregation, Exchange, Join, Scan, Stage

COUNTED = ("input_rows", "scan_files", "tasks", "shuffle_blocks", "shuffle_write_rows")
"""Counters that must be known: unknown is not zero."""


@dataclass(frozen=True, slots=True)
class Units:
    """Amounts of work. A row counts once for each operator that does something with it."""

    rows: int = 0  # out of scans
    files: int = 0
    tasks: int = 0
    blocks: int = 0  # of shuffles: tasks times the partitions they write into
    shuffled_rows: int = 0  # written to a shuffle and read from it
    joined_rows: int = 0  # into joins, both inputs
    grouped_rows: int = 0  # into aggregations


class Shown(Protocol):
    """What the plan of an execution showed: `Signals`, or the same as part of the evidence."""

    @property
    def exchanges(self) -> tuple[Exchange, ...]: ...
    @property
    def scans(self) -> tuple[Scan, ...]: ...
    @property
    def joins(self) -> tuple[Join, ...]: ...
    @property
    def aggregations(self) -> tuple[Aggregation, ...]: ...


def execution_units(counted: Mapping[str, int], shown: Shown) -> Units:
    """Of a whole execution. The counters in `COUNTED` must be known."""
    return Units(
        rows=counted["input_rows"],
        files=counted["scan_files"],
        tasks=counted["tasks"],
        blocks=counted["shuffle_blocks"],
        shuffled_rows=counted["shuffle_write_rows"],
        joined_rows=_joined(shown.joins),
        grouped_rows=_grouped(shown.aggregations),
    )


def stage_units(stage: Stage, shown: Shown) -> Units:
    """Of one stage: what it reads, and what its operators do.

    Rows that did not come out of its scans came out of shuffles. A stage that reads no other one has no such rows.

    >>> from planopt_assets.model.signals import Signals
    >>> scan = Stage(0, (), tasks=12, rows=765_000, files=201, shuffle_partitions=200)
    >>> units = stage_units(scan, Signals())
    >>> units.rows, units.files, units.tasks, units.blocks, units.shuffled_rows
    (765000, 201, 12, 2400, 0)
    >>> stage_units(Stage(1, (0,), tasks=2, rows=90_000, files=0, shuffle_partitions=0), Signals()).shuffled_rows
    90000
    """
    scanned = stage.rows
    if stage.feeds:
        scanned = min(stage.rows, sum(s.read_rows or 0 for s in shown.scans if s.node in stage.nodes))
    return Units(
        rows=scanned,
        files=stage.files,
        tasks=stage.tasks,
        blocks=stage.tasks * stage.shuffle_partitions,
        shuffled_rows=stage.rows - scanned,
        joined_rows=_joined(j for j in shown.joins if j.node in stage.nodes),
        grouped_rows=_grouped(a for a in shown.aggregations if a.node in stage.nodes),
    )


def _joined(joins: Iterable[Join]) -> int:
    return sum((join.left.rows or 0) + (join.right.rows or 0) for join in joins)


def _grouped(aggregations: Iterable[Aggregation]) -> int:
    return sum(a.rows_in or 0 for a in aggregations)
