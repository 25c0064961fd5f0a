"""The scans of a physical plan, from Spark's plan tree (JSON), and the accumulators of their counters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from planopt_assets.model.location import plain_path
from planopt_assets.observe.plans.metrics import ROWS

Node = Mapping[str, Any]

# Operators between a scan and the filters over it. Except for filters, they change neither rows nor their number.
_SEE_THROUGH = re.compile(
    r"^(Filter|Project|ColumnarToRow|InputAdapter|WholeStageCodegen.*|BatchEvalPython|ArrowEvalPython)$"
)
_OUTPUT = re.compile(r"^\w*FileScan \w+ [^\[]*\[([^\]]*)\]")
_ID = re.compile(r"#(\d+)L?")
_LOCATION = re.compile(r"\[([^\],]*)")


@dataclass(frozen=True, slots=True)
class ScanNode:
    """One file scan in the tree. `ids` are its output columns; they distinguish two scans of one table."""

    path: str
    ids: frozenset[int]
    metadata: Mapping[str, str]
    metrics: Mapping[str, int]  # name -> accumulator
    matched: int | None  # accumulator of the rows that passed every filter directly over the scan


def scan_nodes(info: Node) -> tuple[ScanNode, ...]:
    """Every file scan, depth first. A repeated scan (reused exchange, pruning sub-query) counts once."""
    found: dict[tuple[str, frozenset[int]], ScanNode] = {}
    for node, matched in _walk(info, None):
        output = _OUTPUT.match(node["simpleString"])
        if output is None:
            continue
        metrics = {m["name"]: m["accumulatorId"] for m in node["metrics"]}
        ids = frozenset(int(i) for i in _ID.findall(output[1]))
        scan = ScanNode(
            _path(node["metadata"]["Location"]), ids, node["metadata"], metrics, matched or metrics.get(ROWS)
        )
        found.setdefault((scan.path, scan.ids) if ids else (scan.path, frozenset({-len(found)})), scan)
    return tuple(found.values())


def _walk(node: Node, matched: int | None) -> Iterator[tuple[Node, int | None]]:
    yield node, matched
    see_through = bool(_SEE_THROUGH.match(node["nodeName"].strip()))
    if node["nodeName"].strip() == "Filter" and matched is None:
        # Where adaptive execution found a part empty, the tree has a logical plan. It has no counters.
        matched = next((m["accumulatorId"] for m in node["metrics"] if m["name"] == ROWS), None)
    for place, child in enumerate(node["children"]):
        # The first child is the input. Plans of sub-queries follow it, and the filter is not over those.
        yield from _walk(child, matched if see_through and place == 0 else None)


def _path(location: str) -> str:
    """
    >>> _path("PreparedDeltaFileIndex(1 paths)[file:/data/orders]")
    '/data/orders'
    """
    found = _LOCATION.search(location)
    return plain_path(found[1]) if found else location
