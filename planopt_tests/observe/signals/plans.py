"""Small executed plans, written as an indented outline."""

from __future__ import annotations

from typing import Any

from planopt_assets.model.plan import ROOT, Plan, PlanNode
from planopt_assets.observe.plans.metrics import (
    FILE_BYTES,
    FILES,
    PARTITIONS,
    ROWS,
    SHUFFLE_BYTES,
    SHUFFLE_ROWS,
    SORT_FALLBACKS,
    SPILL,
)
from planopt_assets.observe.signals.tree import Tree

_METRICS = {
    "rows": ROWS,
    "wrote": SHUFFLE_ROWS,
    "bytes": SHUFFLE_BYTES,
    "files": FILES,
    "size": FILE_BYTES,
    "partitions": PARTITIONS,
    "spill": SPILL,
    "fallbacks": SORT_FALLBACKS,
}
SHUFFLE = "Exchange hashpartitioning(a#0, {}), ENSURE_REQUIREMENTS"


def tree(outline: str, phase: str = "final") -> Tree:
    """Two spaces a level; `kind | detail | rows=5 width=12`, of which all but the kind may be left out.

    `width` is the planner's width of a row, `reuses` the line (from 0) whose result is read again. A detail `shuffle 8`
    is a shuffle into 8 partitions that Spark put in, `table sales` a scan of that table.
    """
    nodes: list[PlanNode] = []
    depths: list[int] = []
    for index, line in enumerate(x for x in outline.splitlines() if x.strip()):
        depth = len(line) - len(line.lstrip())
        parent = next((i for i in reversed(range(index)) if depths[i] < depth), ROOT)
        kind, detail, values, *_ = [*(part.strip() for part in line.split("|")), "", ""]
        told = {name: int(value) for name, _, value in (v.partition("=") for v in values.split())}
        others: dict[str, Any] = {"row_bytes": told.pop("width", None), "reuses": told.pop("reuses", None)}
        measured = tuple(sorted((_METRICS[name], value) for name, value in told.items()))
        nodes.append(PlanNode(index, parent, kind, _detail(kind, detail), measured, **others))
        depths.append(depth)
    return Tree(Plan(phase, tuple(nodes), "x"))


def _detail(kind: str, text: str) -> str:
    if text.startswith("shuffle "):
        return SHUFFLE.format(text.removeprefix("shuffle "))
    if text.startswith("table "):
        return f"FileScan parquet [] Batched: true, Table: {text.removeprefix('table ')}, PartitionFilters: []"
    return text or kind
