"""What observing a query costs on top of running it: digest, plans and counters against the bare execution."""

from __future__ import annotations

import random
import statistics
import time
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.workspace import Workspace
from planopt_assets.model.policy import ORIGINAL

if TYPE_CHECKING:
    from planopt_assets.model.workload import Query, Workload

WARM_UP = 2


def capture_overhead(workload: Workload, rounds: int) -> list[dict[str, Any]]:
    """Per query: median ratio of observed to bare wall clock over interleaved rounds, with its quartiles."""
    workspace = Workspace(workload)
    rows = []
    for query in workload.queries:
        pairs = [_round(workspace, query, number) for number in range(WARM_UP + rounds)][WARM_UP:]
        ratios = sorted(observed / bare for bare, observed in pairs)
        low, ratio, high = statistics.quantiles(ratios, n=4)
        bare_s = statistics.median(bare for bare, _ in pairs)
        rows.append({"query": query.id, "bare_s": bare_s, "ratio": ratio, "low": low, "high": high})
    middle = statistics.median(row["ratio"] for row in rows)
    worst = max(row["ratio"] for row in rows)
    whole = statistics.median(row["bare_s"] for row in rows)
    return [*rows, {"query": "median and worst query", "bare_s": whole, "ratio": middle, "low": middle, "high": worst}]


def _round(workspace: Workspace, query: Query, number: int) -> tuple[float, float]:
    sides = [_bare, _observed]
    random.Random(f"{query.id}/{number}").shuffle(sides)
    seconds = {side: side(workspace, query) for side in sides}
    return seconds[_bare], seconds[_observed]


def _bare(workspace: Workspace, query: Query) -> float:
    start = time.perf_counter()
    workspace.frame(query, 0)._jdf.queryExecution().toRdd().count()
    return time.perf_counter() - start


def _observed(workspace: Workspace, query: Query) -> float:
    start = time.perf_counter()
    workspace.execute(query, 0, ORIGINAL, timeout_s=600)
    return time.perf_counter() - start
