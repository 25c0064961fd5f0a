"""Errors of the planner's estimates against the actual values, operator by operator. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from planopt_assets.model.plan import Estimate, Misjudged, Plan, PlanNode
from planopt_assets.model.scan import ScanFacts
from planopt_assets.observe.plans.cost_text import cost_estimate
from planopt_assets.observe.plans.fingerprint import scanned_table
from planopt_assets.observe.plans.metrics import DATA_SIZE, actual_rows

ROW_HEADER = 8  # Spark adds this to the width of every row it estimates
# Time metrics by name, each with its units per millisecond.
_TIMES = {
    "scan time": 1,
    "time to build": 1,
    "time to collect": 1,
    "sort time": 1,
    "time in aggregation build": 1,
    "duration": 1,
    "fetch wait time": 1,
    "shuffle write time": 1_000_000,
}


def with_first_estimates(final: Plan, initial: Plan) -> Plan:
    """The final plan with the estimates from before the run. Above a finished stage, Spark has corrected its own."""
    before = {(n.kind, n.detail): n.estimate for n in initial.nodes if n.estimate.bytes is not None}
    return replace(
        final,
        nodes=tuple(
            replace(n, estimate=before.get((n.kind, n.detail), n.estimate)) if n.estimate.at_runtime else n
            for n in final.nodes
        ),
    )


def with_text_estimate(plan: Plan, cost: str | None) -> Plan:
    """If no operator has an estimate, the root gets the one of EXPLAIN COST."""
    if cost is None or not plan.nodes or any(n.estimate.source != "none" for n in plan.nodes):
        return plan
    root, *rest = plan.nodes
    return replace(plan, nodes=(replace(root, estimate=cost_estimate(cost)), *rest))


def with_log_rows(plan: Plan, scans: Sequence[ScanFacts]) -> Plan:
    """The same plan, in which scans have the rows that Delta's log counts in the files to read. Spark has none."""
    left: dict[str, list[ScanFacts]] = {}
    for scan in scans:
        left.setdefault(scan.table, []).append(scan)
    nodes = []
    for node in plan.nodes:
        table = scanned_table(node)
        facts = left[table].pop(0) if table is not None and left.get(table) else None
        rows = facts.funnel.scanned.rows if facts else None
        if facts and rows is not None and node.estimate.rows is None:
            size = facts.funnel.scanned.bytes
            node = replace(node, estimate=Estimate(rows, size, "delta_log"))
        nodes.append(node)
    return replace(plan, nodes=tuple(nodes))


def actual_bytes(node: PlanNode) -> int | None:
    """Bytes of an exchange as measured. Elsewhere rows times the planner's row width, as in its estimate."""
    if (size := node.metric(DATA_SIZE)) is not None:
        return size
    rows = actual_rows(node)
    return rows * (node.row_bytes + ROW_HEADER) if rows is not None and node.row_bytes is not None else None


def misjudged(node: PlanNode) -> Misjudged | None:
    """The error by rows if the estimate has rows, else by bytes. None: nothing to compare.

    >>> node = PlanNode(0, -1, "Filter", "", (("number of output rows", 9),), Estimate(rows=999, source="plan"))
    >>> misjudged(node).factor
    100.0
    """
    pairs = (("rows", node.estimate.rows, actual_rows(node)), ("bytes", node.estimate.bytes, actual_bytes(node)))
    for by, estimated, actual in pairs:
        if estimated is not None and actual is not None:
            high, low = max(estimated, actual) + 1, min(estimated, actual) + 1
            return Misjudged(node.index, node.kind, high / low, by, estimated, actual)
    return None


def operator_ms(node: PlanNode) -> int | None:
    """The time that Spark recorded for this operator, summed over tasks. None: no time was recorded.

    >>> operator_ms(PlanNode(0, -1, "Exchange", "", (("fetch wait time", 3), ("shuffle write time", 4_000_000))))
    7
    """
    found = [value // unit for name, value in node.metrics if (unit := _TIMES.get(name.removesuffix(" total")))]
    return sum(found) if found else None


def misled_joins(initial: Plan, final: Plan, threshold: int) -> tuple[Misjudged, ...]:
    """Join inputs whose estimate is on the wrong side of the broadcast threshold. Only these errors change the plan.

    Sizes are rows times the planner's row width. A broadcast hash table is larger, but the planner ignores that too. An
    estimate for wider rows is rescaled to the width of the join's input. A scan is planned together with the filter and
    projection above it, so its estimate already has that width.
    """
    if threshold <= 0:
        return ()
    before = {(n.kind, n.detail): n for n in initial.nodes}
    found = []
    for exchange in final.nodes:
        if exchange.kind not in ("Exchange", "BroadcastExchange") or not _feeds_join(final, exchange):
            continue
        input_ = _first_estimated(final, exchange, before)
        rows = actual_rows(exchange)
        if input_ is None or rows is None or exchange.row_bytes is None or input_.row_bytes is None:
            continue
        width = exchange.row_bytes + ROW_HEADER
        estimated = input_.estimate.bytes or 0
        if not _reads_table(final, exchange):
            estimated = estimated * width // (input_.row_bytes + ROW_HEADER)
        if (estimated > threshold) != (rows * width > threshold):
            high, low = max(estimated, rows * width) + 1, min(estimated, rows * width) + 1
            found.append(Misjudged(input_.index, input_.kind, high / low, "bytes", estimated, rows * width))
    return tuple(sorted(found, key=lambda m: (-m.factor, m.node)))


def _first_estimated(plan: Plan, above: PlanNode, before: Mapping[tuple[str, str], PlanNode]) -> PlanNode | None:
    """The operator right below, ignoring projections, as planned before the run."""
    node = next((n for n in plan.nodes if n.parent == above.index), None)
    while node is not None and node.kind == "Project":
        node = next((n for n in plan.nodes if n.parent == node.index), None)
    planned = before.get((node.kind, node.detail), node) if node else None
    return planned if planned is not None and planned.estimate.bytes is not None else None


def _reads_table(plan: Plan, above: PlanNode) -> bool:
    """Whether only projections and filters are between an exchange and a scan."""
    node = next((n for n in plan.nodes if n.parent == above.index), None)
    while node is not None and node.kind in ("Project", "Filter", "ColumnarToRow"):
        node = next((n for n in plan.nodes if n.parent == node.index), None)
    return node is not None and node.kind.startswith("Scan")


def _feeds_join(plan: Plan, node: PlanNode) -> bool:
    """Whether the next operator above, ignoring sorts and shuffle readers, is a join."""
    parent = node.parent
    while parent >= 0 and plan.nodes[parent].kind in ("Sort", "AQEShuffleRead", "Project"):
        parent = plan.nodes[parent].parent
    return parent >= 0 and "Join" in plan.nodes[parent].kind
