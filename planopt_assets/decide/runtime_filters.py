"""The runtime filters that Spark could add to a plan: from one input of a shuffled join onto a scan of the other.

Spark makes a filter from one scan with a predicate, also where that is joined to others first. The filter drops no more
than the predicate does. Spark looks at the left input first and adds one filter to a join: the right input gets one
only if the left gets none. Filters that only cost are listed too: a threshold lets in whatever is within it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from planopt_assets.decide.join_sides import SHUFFLED_JOINS
from planopt_assets.decide.row_prices import FILTERED_ROW_NS, GROUP_ROW_NS, MIB, SHUFFLE_ROW_NS
from planopt_assets.decide.scan_prices import FILTER_ITEM_NS, PROBE_ROW_NS, REREAD_ROW_NS
from planopt_assets.model.evidence import Evidence, ObservedExecution
from planopt_assets.model.signals import OTHER, SIDES, Aggregation, Join, JoinInput, Scan, SideName

MOST_ITEMS = 1_000_000  # Spark sizes a filter for this many if it has no row count, which over Delta is always
LARGEST_CREATION = 64 * MIB
SMALLEST_SCAN = 1 * MIB
FEW_MATCH = 0.25  # a join is worth a filter if at most this share of the filtered input's rows comes out

# Sides whose rows without a match may be dropped before the join.
_PRUNED: dict[SideName, tuple[str, ...]] = {
    "left": ("Inner", "LeftSemi", "RightOuter"),
    "right": ("Inner", "LeftSemi", "LeftOuter"),
}


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter that Spark could add: from one input of a join onto the scan of the other."""

    binding: int
    node: int  # of the join
    scan_bytes: int  # of the largest scan it would apply to
    estimated_bytes: int  # of the scan it is made from
    spared_rows: int
    saving_ns: int

    @property
    def is_worth_it(self) -> bool:
        return self.saving_ns > 0 and self.estimated_bytes <= LARGEST_CREATION

    def is_within(self, application: int, creation: int) -> bool:
        """Whether Spark adds it with these thresholds."""
        return self.scan_bytes >= application and self.estimated_bytes <= creation


def shuffled_joins(evidence: Evidence) -> list[tuple[int, ObservedExecution, Join]]:
    """Each with its binding and execution."""
    return [
        (number, execution, join)
        for number, execution in enumerate(evidence.executions)
        for join in execution.joins
        if join.planned_strategy in SHUFFLED_JOINS
    ]


def possible_filters(evidence: Evidence) -> list[Filter]:
    """Of every shuffled join, in the order in which Spark looks for them."""
    return [f for number, execution, join in shuffled_joins(evidence) for f in _filters(number, execution, join)]


def added_within(filters: Iterable[Filter], application: int, creation: int) -> list[Filter]:
    """What Spark adds with these thresholds: the first of each join."""
    found: dict[tuple[int, int], Filter] = {}
    for one in filters:
        if one.is_within(application, creation):
            found.setdefault((one.binding, one.node), one)
    return list(found.values())


def filterable_ns(evidence: Evidence) -> int:
    """What all filters together would spare at most, one for each join, with nothing paid for them."""
    most: dict[tuple[int, int], int] = {}
    for one in possible_filters(evidence):
        join = one.binding, one.node
        most[join] = max(most.get(join, 0), one.spared_rows)
    return sum(most.values()) * FILTERED_ROW_NS


def _filters(binding: int, execution: ObservedExecution, join: Join) -> Iterator[Filter]:
    """Onto the left input, then onto the right one, where Spark would try one and all sizes are known.

    A join whose inputs have a filter already gets no other.
    """
    tables = {*join.left.tables, *join.right.tables}
    if any(s.runtime_filters for s in execution.scans if s.table in tables):
        return
    for filtered_name in SIDES:
        making, filtered = join.side(OTHER[filtered_name]), join.side(filtered_name)
        source = _source(execution, making)
        if join.kind not in _PRUNED[filtered_name] or making.aggregated or source is None:
            continue
        if making.rows is None or filtered.rows is None or join.rows is None:
            continue
        scan = max((s for s in execution.scans if s.table in filtered.tables), key=lambda s: s.bytes, default=None)
        if scan is None or scan.bytes < SMALLEST_SCAN:
            continue
        grouped = _grouping(execution, filtered, scan)
        if grouped is not None:
            rows, spared, gained = _not_grouped(grouped, making.rows)
        elif filtered.shuffled:
            rows = filtered.rows
            spared = max(0, min(rows - join.rows, rows - rows * source.matched_rows // max(1, source.read_rows)))
            gained = spared * FILTERED_ROW_NS if join.rows <= FEW_MATCH * filtered.rows else 0
        else:
            continue
        if source.matched_rows > MOST_ITEMS:  # a filter with so many lets nearly all rows pass
            spared = gained = 0
        paid = rows * PROBE_ROW_NS + source.read_rows * REREAD_ROW_NS + source.matched_rows * FILTER_ITEM_NS
        yield Filter(binding, join.node, scan.bytes, source.estimated_bytes, spared, gained - paid)


@dataclass(frozen=True, slots=True)
class _Source:
    """What Spark makes a filter from."""

    read_rows: int
    matched_rows: int
    estimated_bytes: int


def _source(execution: ObservedExecution, making: JoinInput) -> _Source | None:
    """The input's scan with a predicate. If it has several, Spark takes that with the key; assumed is the largest."""
    estimates = {table: _estimated(execution, making, table) for table in making.tables}
    found = [
        _Source(scan.read_rows, scan.matched_rows, estimate)
        for scan in execution.scans
        if _is_selective(scan) and scan.read_rows is not None and scan.matched_rows is not None
        if (estimate := estimates.get(scan.table)) is not None
    ]
    return max(found, key=lambda s: (s.estimated_bytes, s.read_rows), default=None)


def _estimated(execution: ObservedExecution, making: JoinInput, table: str) -> int | None:
    """The planner's size of one table behind an input: the input's own, or that of a join below it."""
    if making.tables == (table,):
        return making.estimated_bytes
    inputs = (j.side(s) for j in execution.joins for s in SIDES)
    known = (i.estimated_bytes for i in inputs if i.tables == (table,) and i.estimated_bytes is not None)
    return min(known, default=None)


def _grouping(execution: ObservedExecution, filtered: JoinInput, scan: Scan) -> Aggregation | None:
    """The aggregation between a join and the scan, if it groups all rows of the scan by one key, the join's."""
    if not filtered.aggregated:
        return None
    rows = scan.read_rows if scan.matched_rows is None else scan.matched_rows
    return next((a for a in execution.aggregations if (a.keys, a.groups, a.rows_in) == (1, filtered.rows, rows)), None)


def _not_grouped(grouped: Aggregation, asked: int) -> tuple[int, int, int]:
    """Rows that are probed, rows that are not grouped any more, and what that saves: `asked` groups are left."""
    rows, groups = grouped.rows_in or 0, grouped.groups or 1
    if asked > FEW_MATCH * groups:
        return rows, 0, 0
    spared = rows - rows * asked // groups
    partial = (grouped.rows_partial or groups) * spared // max(1, rows)
    return rows, spared, spared * GROUP_ROW_NS + partial * SHUFFLE_ROW_NS


def _is_selective(scan: Scan) -> bool:
    """Spark makes a filter only from an input with a predicate. `IS NOT NULL` alone does not count."""
    return bool(set(scan.families) - {"null_test", "udf", "pattern"})
