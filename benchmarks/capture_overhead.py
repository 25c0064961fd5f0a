"""What looking at a query costs on top of running it: each capture tier against the bare execution, interleaved."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.workspace import Workspace

if TYPE_CHECKING:
    from planopt_assets.model.workload import Query

WARM_UP = 2
Side = Callable[[Workspace, "Query"], float]


def capture_overhead(workspace: Workspace, rounds: int) -> list[dict[str, Any]]:
    """Per query and tier: median ratio to the bare wall clock over interleaved rounds, with its quartiles.

    `always_on` is what a production run pays; `trial` is what an execution in a trial does (digest, no plan);
    `observation` has both; `debug` adds EXPLAIN texts.
    """
    rows = []
    for query in workspace.workload.queries:
        seconds = [_round(workspace, query, number) for number in range(WARM_UP + rounds)][WARM_UP:]
        bare = statistics.median(s["bare"] for s in seconds)
        for tier in (t for t in SIDES if t != "bare"):
            low, ratio, high = statistics.quantiles([s[tier] / s["bare"] for s in seconds], n=4)
            rows.append({"query": query.id, "tier": tier, "bare_s": bare, "ratio": ratio, "low": low, "high": high})
    return rows


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Median and worst query of each tier."""
    found = []
    for tier in dict.fromkeys(row["tier"] for row in rows):
        ratios = [row["ratio"] for row in rows if row["tier"] == tier]
        found.append({"tier": tier, "median": statistics.median(ratios), "worst": max(ratios), "queries": len(ratios)})
    return found


def _round(workspace: Workspace, query: Query, number: int) -> dict[str, float]:
    order = list(SIDES)
    random.Random(f"{query.id}/{number}").shuffle(order)
    return {name: SIDES[name](workspace, query) for name in order}


def _bare(workspace: Workspace, query: Query) -> float:
    start = time.perf_counter()
    workspace.frame(query, 0, workspace.baseline)._jdf.queryExecution().toRdd().count()
    return time.perf_counter() - start


def _captured(workspace: Workspace, query: Query, **how: Any) -> float:
    start = time.perf_counter()
    workspace.execute(query, 0, workspace.baseline, timeout_s=600, **how)
    return time.perf_counter() - start


SIDES: dict[str, Side] = {
    "bare": _bare,
    "always_on": partial(_captured, tier="always_on", digest=False),
    "trial": _captured,
    "observation": partial(_captured, tier="always_on"),
    "debug": partial(_captured, tier="debug"),
}
