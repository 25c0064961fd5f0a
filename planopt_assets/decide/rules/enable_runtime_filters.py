"""Let the small, filtered input of a shuffled join filter the large one before it is shuffled.

Spark does so only for scans above 10 GB, and only from inputs it estimates below 10 MB. Here both are measured.

Worked (TPC-H q17): 200 parts of one brand, of a scan of 200,000, meet 6,000,000 line items; 6,000 rows come out. Every
line item that finds no part can be left out: at least 6,000,000 - 6,000, since each of the others makes a row. Spared:
5,994,000 x (150 ns shuffled + 100 ns sorted) = 1,499 ms. Paid: 6,000,000 probes x 50 ns = 300 ms, and the small input
is read once more, 200,000 x 1,000 ns = 200 ms. The scan has 180 MB: the threshold becomes 128 MiB, the power of two
below.

A threshold holds for the whole query. So every other join that it would let in is counted as well, with its loss: where
most rows find a match (q21), probing is all there is, and nothing is proposed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planopt_assets.decide.answer import Answer, cannot_tell, no_change, propose
from planopt_assets.decide.join_sides import OTHER, SHUFFLED_JOINS, SIDES
from planopt_assets.decide.prices import CPU_PER_ROW_NS
from planopt_assets.decide.row_prices import MIB, SHUFFLE_ROW_NS, SORT_ROW_NS
from planopt_assets.decide.scan_prices import PROBE_ROW_NS
from planopt_assets.decide.setting_in_force import bytes_in_force, switched_on
from planopt_assets.model.evidence import Evidence, ObservedExecution
from planopt_assets.model.signals import Join, Scan, SideName

NAME = "enable_runtime_filters"
ENABLED = "spark.sql.optimizer.runtime.bloomFilter.enabled"
CREATION = "spark.sql.optimizer.runtime.bloomFilter.creationSideThreshold"
APPLICATION = "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold"

MOST_ITEMS = 1_000_000  # Spark sizes a filter for as many when it has no row count, and over Delta it has none
LARGEST_CREATION = 64 * MIB
SMALLEST_SCAN = 1 * MIB
FEW_MATCH = 0.25  # of the large input's rows, at most, come out of a join that is worth a filter

# Sides of which rows without a match may be dropped before the join.
_PRUNED: dict[SideName, tuple[str, ...]] = {
    "left": ("Inner", "LeftSemi", "RightOuter"),
    "right": ("Inner", "LeftSemi", "LeftOuter"),
}


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter Spark would put in: from one input of a join onto the other's scan."""

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
    """Propose the thresholds that let the filters in which pay, if those it lets in pay together."""
    creation, application = bytes_in_force(evidence, CREATION), bytes_in_force(evidence, APPLICATION)
    on = switched_on(evidence, ENABLED)
    if creation is None or application is None or on is None:
        return cannot_tell("the observation does not tell the thresholds of runtime filters", {})
    joins = [(e, j) for e in evidence.executions for j in e.joins if j.planned_strategy in SHUFFLED_JOINS]
    arithmetic = {"shuffled_joins": len(joins), "creation_bytes": creation, "application_bytes": application}
    filters = [f for e, j in joins for f in _filters(e, j)]
    kept_out = [f for f in filters if not on or f.scan_bytes < application or f.estimated_bytes > creation]
    worth = [f for f in kept_out if f.is_worth_it]
    if not worth:
        unknown = sum(_is_unknown(j) for _, j in joins)
        if unknown and not filters:
            return cannot_tell(
                f"rows or estimated_bytes of the inputs of {unknown} shuffled joins are missing", arithmetic
            )
        return no_change("no shuffled join has a small filtered input that most of a large scan misses", arithmetic)
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
        return no_change("filters of other joins that the thresholds would let in cost more than is gained", arithmetic)
    changed = {} if on else {ENABLED: "true"}
    changed |= {APPLICATION: str(new_application)} if new_application != application else {}
    changed |= {CREATION: str(new_creation)} if new_creation != creation else {}
    return propose(
        changed,
        f"{arithmetic['spared_rows']:,} rows are shuffled and find no match: a small filtered input can tell early",
        saved_cpu_ns=saving,
        arithmetic=arithmetic,
        nodes=sorted({f.node for f in let_in}),
    )


def _filters(execution: ObservedExecution, join: Join) -> Iterator[Filter]:
    """From either side onto the other, where Spark would try and everything about it is known."""
    for large_name in SIDES:
        small, large = join.side(OTHER[large_name]), join.side(large_name)
        scans = [s for s in execution.scans if s.table in large.tables]
        sources = [s for s in execution.scans if s.table in small.tables]
        if join.kind not in _PRUNED[large_name] or not large.shuffled or small.aggregated or not _is_selective(sources):
            continue
        if small.rows is None or large.rows is None or join.rows is None or small.estimated_bytes is None:
            continue
        scan = max(scans, key=lambda s: s.bytes, default=None)
        if scan is None or scan.runtime_filters or scan.bytes < SMALLEST_SCAN or small.rows >= large.rows:
            continue
        spared = max(0, large.rows - join.rows)
        paid = large.rows * PROBE_ROW_NS + sum(s.read_rows or 0 for s in sources) * CPU_PER_ROW_NS
        gained = spared * (SHUFFLE_ROW_NS + SORT_ROW_NS) if join.rows <= FEW_MATCH * large.rows else 0
        yield Filter(join.node, scan.bytes, small.estimated_bytes, small.rows, spared, gained - paid)


def _is_selective(sources: list[Scan]) -> bool:
    """Spark builds a filter only from an input with a predicate; `IS NOT NULL` alone is none."""
    return any(set(s.families) - {"null_test", "udf", "pattern"} for s in sources)


def _is_unknown(join: Join) -> bool:
    sides = (join.left, join.right)
    return join.rows is None or any(s.rows is None or s.estimated_bytes is None for s in sides)


def _power_below(size: int) -> int:
    """The same threshold for a table that grew a little.

    >>> _power_below(180_000_000), _power_below(2**20)
    (134217728, 1048576)
    """
    return 1 << (max(size, SMALLEST_SCAN).bit_length() - 1)


def _power_above(size: int) -> int:
    return 1 << max(size - 1, 1).bit_length()
