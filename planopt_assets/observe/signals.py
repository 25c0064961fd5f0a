"""What rules look at, read from an executed plan: shuffles that may be resized, and scans."""

from __future__ import annotations

from collections.abc import Mapping

from planopt_assets.model.plan import Plan
from planopt_assets.model.signals import Exchange, Scan
from planopt_assets.observe.fingerprint import partition_count, scanned_table

FILES, FILE_BYTES = "number of files read", "size of files read"
SHUFFLE_BYTES = "shuffle bytes written"
ROWS = "number of output rows"


def resizable_exchanges(plan: Plan) -> tuple[Exchange, ...]:
    """Shuffles Spark put in by itself; a `repartition(n)` in the query is the author's choice and stays."""
    return tuple(
        Exchange(n.index, count, n.metric(SHUFFLE_BYTES) or 0)
        for n in plan.nodes
        if (count := partition_count(n)) is not None and "ENSURE_REQUIREMENTS" in n.detail
    )


def scans(plan: Plan, splits: Mapping[str, list[int]]) -> tuple[Scan, ...]:
    """Every scan of a registered table; `splits` lists, per table, the tasks of its scans in plan order."""
    left = {table: list(counts) for table, counts in splits.items()}
    found = []
    for node in plan.nodes:
        if (table := scanned_table(node)) is not None:
            tasks = left[table].pop(0) if left.get(table) else 0
            found.append(Scan(node.index, table, node.metric(FILES) or 0, node.metric(FILE_BYTES) or 0, tasks))
    return tuple(found)


def total(plan: Plan, metric: str) -> int:
    """A metric summed over all operators that have it."""
    return sum(node.metric(metric) or 0 for node in plan.nodes)
