"""The operator metrics that planopt reads, by Spark's names."""

from __future__ import annotations

from planopt_assets.model.plan import Plan, PlanNode

FILES, FILE_BYTES = "number of files read", "size of files read"
SHUFFLE_BYTES, SHUFFLE_ROWS = "shuffle bytes written", "shuffle records written"
ROWS = "number of output rows"
PARTITIONS = "number of partitions"
SPILL = "spill size"
SORT_FALLBACKS = "number of sort fallback tasks"
PEAK_MEMORY = "peak memory"
DATA_SIZE = "data size"


def actual_rows(node: PlanNode) -> int | None:
    """Output rows of an operator. For a shuffle, the rows it wrote."""
    return node.metric(SHUFFLE_ROWS) if node.kind == "Exchange" else node.metric(ROWS)


def total(plan: Plan, metric: str) -> int:
    """A metric summed over all operators that have it."""
    return sum(node.metric(metric) or 0 for node in plan.nodes)
