"""The cost of a plan that did not run: rows from the Delta log, followed up the plan, at the prices of the rules.

It compares two plans over the same tables. It is no forecast of seconds: predicates above a scan and groups are assumed
to keep every row, on both sides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from planopt_assets.decide.prices import CPU_PER_FILE_NS, CPU_PER_QUERY_NS, CPU_PER_ROW_NS
from planopt_assets.decide.row_prices import BUILD_ROW_NS, HASH_ROW_NS, LOOKUP_ROW_NS, SHUFFLE_ROW_NS, SORT_ROW_NS
from planopt_assets.model.plan import ROOT, Plan, PlanNode
from planopt_assets.model.scan import ScanFacts
from planopt_assets.observe.plans.fingerprint import scanned_table

BYTES_PER_ROW = 50  # of a compressed row, where the log counts no rows
Density = Mapping[str, float]
"""Rows per byte, by table."""

_PER_ROW = {
    "Exchange": SHUFFLE_ROW_NS,
    "Sort": SORT_ROW_NS,
    "BroadcastExchange": BUILD_ROW_NS,
    "ShuffledHashJoin": HASH_ROW_NS,
}
_EVERY_PAIR = ("BroadcastNestedLoopJoin", "CartesianProduct")


def density(scans: Sequence[ScanFacts]) -> dict[str, float]:
    """Rows per byte of each table. Delta counts rows only where a predicate made it look, so any scan may tell."""
    known = [(s.table, size) for s in scans for size in (s.funnel.total, s.funnel.partition, s.funnel.scanned)]
    return {table: size.rows / size.bytes for table, size in known if size.rows is not None and size.bytes}


def planned_cpu_ns(plan: Plan, scans: Sequence[ScanFacts], rows_per_byte: Density) -> int:
    """Modelled CPU of one run of the plan.

    Worked: a scan of 1,000,000 rows in 10 files, shuffled and sorted for a merge join with 100 rows of one file:
    0.1 + 1.0 + 0.02 + 0.15 + 0.1 s, and next to nothing for the small side. If the condition of the join is lost, each
    of the 1,000,000 rows meets all 100: 5 s more.
    """
    flow = _Flow(plan, scans, rows_per_byte)
    return CPU_PER_QUERY_NS + sum(flow.walk(node)[1] for node in flow.below(ROOT))


class _Flow:
    """Rows and cost of every operator, from the leaves up."""

    def __init__(self, plan: Plan, scans: Sequence[ScanFacts], rows_per_byte: Density) -> None:
        self._children: dict[int, list[PlanNode]] = {}
        for node in plan.nodes:
            self._children.setdefault(node.parent, []).append(node)
        self._scans: dict[str, list[ScanFacts]] = {}
        for scan in scans:
            self._scans.setdefault(scan.table, []).append(scan)
        self._density = rows_per_byte

    def below(self, index: int) -> list[PlanNode]:
        return self._children.get(index, [])

    def walk(self, node: PlanNode) -> tuple[int, int]:
        """Rows that leave the operator, and the cost of it and all below. What is reused has been paid for."""
        inputs = [self.walk(child) for child in self.below(node.index)]
        rows, cost = [r for r, _ in inputs], sum(c for _, c in inputs)
        if (table := scanned_table(node)) is not None:
            return self._scan(table)
        if node.reuses is not None:
            return max(rows, default=0), 0
        if node.kind in _EVERY_PAIR:
            return prod(rows), cost + prod(rows) * LOOKUP_ROW_NS
        leaving = sum(rows) if node.kind == "Union" else max(rows, default=0)
        return leaving, cost + leaving * _PER_ROW.get(node.kind, 0)

    def _scan(self, table: str) -> tuple[int, int]:
        found = self._scans.get(table)
        if not found:
            return 0, 0
        scan = found.pop(0) if len(found) > 1 else found[0]
        size = scan.funnel.scanned if scan.funnel.scanned.bytes is not None else scan.funnel.total
        rows = size.rows
        if rows is None:
            rows = round((size.bytes or 0) * self._density.get(table, 1 / BYTES_PER_ROW))
        return rows, rows * CPU_PER_ROW_NS + (size.files or 0) * CPU_PER_FILE_NS
