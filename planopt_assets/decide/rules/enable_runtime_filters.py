"""Let the small, filtered input of a shuffled join filter the large one before it is shuffled.

Spark does this only for scans above 10 GB, and only from inputs it estimates below 10 MB. Here both sizes are measured.

Worked (TPC-H q17): 200 parts of one brand, from a scan of 200,000, are joined to 6,000,000 line items; 6,000 rows come
out. A line item without a part can be dropped: at least 6,000,000 - 6,000, because each of the others gives a row.
Saved: 5,994,000 x (150 ns shuffled + 100 ns sorted) = 1,499 ms. Paid: 6,000,000 probes x 50 ns = 300 ms, and the small
input is read once more, 200,000 x 1,000 ns = 200 ms. The scan has 180 MB: the threshold becomes 128 MiB, the next lower
power of two.

Spark pushes the filter below an aggregation by the join's key, so it spares what is grouped. It makes the filter from
one scan with a predicate, also where that is joined to others first, and drops no more than the predicate does. Worked
(q17 again, as planned with a broadcast of the parts): their 6,088 line items are joined to the averages of 200,000
parts, grouped from 6,000,000 rows in 600,000 partial groups. At most 3 % of the groups are asked for. Saved: 97 % of
6,000,000 x 150 ns + 600,000 x 150 ns = 960 ms.

A threshold holds for the whole query. So the filters that it enables in other joins are counted too, with their loss.
If most rows find a match (q21), there is only the cost of probing, and nothing is proposed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planopt_assets.decide.answer import Answer, cannot_tell, no_change, propose
from planopt_assets.decide.join_sides import OTHER, SHUFFLED_JOINS, SIDES
from planopt_assets.decide.prices import CPU_PER_ROW_NS
from planopt_assets.decide.row_prices import GROUP_ROW_NS, MIB, SHUFFLE_ROW_NS, SORT_ROW_NS
from planopt_assets.decide.scan_prices import PROBE_ROW_NS
from planopt_assets.decide.setting_in_force import bytes_in_force, switched_on
from planopt_assets.model.evidence import Evidence, ObservedExecution
from planopt_assets.model.signals import Aggregation, Join, JoinInput, Scan, SideName

NAME = "enable_runtime_filters"
ENABLED = "spark.sql.optimizer.runtime.bloomFilter.enabled"
CREATION = "spark.sql.optimizer.runtime.bloomFilter.creationSideThreshold"
APPLICATION = "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold"

MOST_ITEMS = 1_000_000  # Spark sizes a filter for this many if it has no row count, which over Delta is always
LARGEST_CREATION = 64 * MIB
SMALLEST_SCAN = 1 * MIB
FEW_MATCH = 0.25  # a join is worth a filter if at most this share of the large input's rows comes out

# Sides whose rows without a match may be dropped before the join.
_PRUNED: dict[SideName, tuple[str, ...]] = {
    "left": ("Inner", "LeftSemi", "RightOuter"),
    "right": ("Inner", "LeftSemi", "LeftOuter"),
}


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter that Spark would add: from one input of a join onto the scan of the other."""

    node: int
    scan_bytes: int  # of the largest scan it would apply to
    estimated_bytes: int  # of the input it is built from
    items: int
    spared_rows: int
    saving_ns: int

    @property
    def is_worth_it(self) -> bool:
        return self.saving_ns > 0 and self.items <= MOST_ITEMS and self.estimated_bytes <= LARGEST_CREATION


def enable_runtime_filters(evidence: Evidence) -> Answer:
    """Propose thresholds that enable the filters that pay, if all filters they enable pay in sum."""
    creation, application = bytes_in_force(evidence, CREATION), bytes_in_force(evidence, APPLICATION)
    on = switched_on(evidence, ENABLED)
    if creation is None or application is None or on is None:
        return cannot_tell("the thresholds of runtime filters were not recorded with the observation", {})
    joins = [(e, j) for e in evidence.executions for j in e.joins if j.planned_strategy in SHUFFLED_JOINS]
    arithmetic = {"shuffled_joins": len(joins), "creation_bytes": creation, "application_bytes": application}
    filters = [f for e, j in joins for f in _filters(e, j)]
    kept_out = [f for f in filters if not on or f.scan_bytes < application or f.estimated_bytes > creation]
    worth = [f for f in kept_out if f.is_worth_it]
    if not worth:
        unknown = sum(_is_unknown(j) for _, j in joins)
        if unknown and not filters:
            return cannot_tell(
                f"rows or estimated_bytes of the inputs are missing for {unknown} shuffled joins", arithmetic
            )
        return no_change("no shuffled join has a small filtered input that drops most rows of a large scan", arithmetic)
    new_application = min(application, _power_below(min(f.scan_bytes for f in worth)))
    new_creation = max(creation, _power_above(max(f.estimated_bytes for f in worth)))
    let_in = [f for f in filters if f.scan_bytes >= new_application and f.estimated_bytes <= new_creation]
    saving = sum(f.saving_ns for f in let_in)
    arithmetic |= {
        "filters_worth_it": len(worth),
        "filters_let_in": len(let_in),
        "spared_rows": sum(f.spared_rows for f in worth),
        "saved_shuffle_cpu_ns": saving,
    }
    if saving <= 0:
        return no_change("the thresholds would also enable filters in other joins that cost more", arithmetic)
    changed = {} if on else {ENABLED: "true"}
    changed |= {APPLICATION: str(new_application)} if new_application != application else {}
    changed |= {CREATION: str(new_creation)} if new_creation != creation else {}
    return propose(
        changed,
        f"{arithmetic['spared_rows']:,} rows are shuffled or grouped and find no match: "
        "a runtime filter can drop them earlier",
        saved_cpu_ns=saving,
        arithmetic=arithmetic,
        nodes=sorted({f.node for f in let_in}),
    )


def filterable_ns(evidence: Evidence) -> int:
    """What all filters together would spare at most, with nothing paid for them."""
    joins = ((e, j) for e in evidence.executions for j in e.joins if j.planned_strategy in SHUFFLED_JOINS)
    return sum(f.spared_rows for e, j in joins for f in _filters(e, j)) * (SHUFFLE_ROW_NS + SORT_ROW_NS)


def _filters(execution: ObservedExecution, join: Join) -> Iterator[Filter]:
    """Filters from either side onto the other, where Spark would try one and all sizes are known."""
    for large_name in SIDES:
        small, large = join.side(OTHER[large_name]), join.side(large_name)
        source = _source(execution, small)
        if join.kind not in _PRUNED[large_name] or small.aggregated or source is None:
            continue
        if small.rows is None or large.rows is None or join.rows is None or small.rows >= large.rows:
            continue
        scan = max((s for s in execution.scans if s.table in large.tables), key=lambda s: s.bytes, default=None)
        if scan is None or scan.runtime_filters or scan.bytes < SMALLEST_SCAN:
            continue
        grouped = _grouping(execution, large, scan)
        if grouped is not None:
            rows, spared, gained = _not_grouped(grouped, small.rows)
        elif large.shuffled:
            rows = large.rows
            spared = max(0, min(rows - join.rows, rows - rows * source.matched_rows // max(1, source.read_rows)))
            gained = spared * (SHUFFLE_ROW_NS + SORT_ROW_NS) if join.rows <= FEW_MATCH * large.rows else 0
        else:
            continue
        paid = rows * PROBE_ROW_NS + source.read_rows * CPU_PER_ROW_NS
        yield Filter(join.node, scan.bytes, source.estimated_bytes, source.matched_rows, spared, gained - paid)


@dataclass(frozen=True, slots=True)
class _Source:
    """What Spark makes a filter from."""

    read_rows: int
    matched_rows: int
    estimated_bytes: int


def _source(execution: ObservedExecution, small: JoinInput) -> _Source | None:
    """The input's scan with a predicate. If it has several, Spark takes that with the key; assumed is the largest."""
    estimates = {table: _estimated(execution, small, table) for table in small.tables}
    found = [
        _Source(scan.read_rows, scan.matched_rows, estimate)
        for scan in execution.scans
        if _is_selective(scan) and scan.read_rows is not None and scan.matched_rows is not None
        if (estimate := estimates.get(scan.table)) is not None
    ]
    return max(found, key=lambda s: (s.estimated_bytes, s.read_rows), default=None)


def _estimated(execution: ObservedExecution, small: JoinInput, table: str) -> int | None:
    """The planner's size of one table behind an input: the input's own, or that of a join below it."""
    if small.tables == (table,):
        return small.estimated_bytes
    inputs = (j.side(s) for j in execution.joins for s in SIDES)
    known = (i.estimated_bytes for i in inputs if i.tables == (table,) and i.estimated_bytes is not None)
    return min(known, default=None)


def _grouping(execution: ObservedExecution, large: JoinInput, scan: Scan) -> Aggregation | None:
    """The aggregation between a join and the scan, if it groups all rows of the scan by one key, the join's."""
    if not large.aggregated:
        return None
    rows = scan.read_rows if scan.matched_rows is None else scan.matched_rows
    return next((a for a in execution.aggregations if (a.keys, a.groups, a.rows_in) == (1, large.rows, rows)), None)


def _not_grouped(grouped: Aggregation, asked: int) -> tuple[int, int, int]:
    """Rows that are probed, rows that are not grouped any more, and what that saves: `asked` groups are left."""
    rows, groups = grouped.rows_in or 0, grouped.groups or 1
    if asked > FEW_MATCH * groups:
        return rows, 0, 0
    spared = rows - rows * asked // groups
    partial = (grouped.rows_partial or groups) * spared // max(1, rows)
    return rows, spared, spared * GROUP_ROW_NS + partial * SHUFFLE_ROW_NS


def _is_selective(scan: Scan) -> bool:
    """Spark builds a filter only from an input with a predicate. `IS NOT NULL` alone does not count."""
    return bool(set(scan.families) - {"null_test", "udf", "pattern"})


def _is_unknown(join: Join) -> bool:
    sides = (join.left, join.right)
    return join.rows is None or any(s.rows is None or s.estimated_bytes is None for s in sides)


def _power_below(size: int) -> int:
    """A power of two, so that the threshold stays the same if the table grows a little.

    >>> _power_below(180_000_000), _power_below(2**20)
    (134217728, 1048576)
    """
    return 1 << (max(size, SMALLEST_SCAN).bit_length() - 1)


def _power_above(size: int) -> int:
    return 1 << max(size - 1, 1).bit_length()
