"""Executions of a policy and of original, as watch compares them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planopt_assets.model.counters import Counters
from planopt_assets.model.execution import Execution
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.stamp import Stamp
from planopt_assets.store.codecs.observing import EXECUTIONS
from planopt_tests.rows import FEWER, Row

MB = 1 << 20
PROVEN: Row = {
    "input_rows": 1_000_000,
    "table_bytes": 1000 * MB,
    "scan_files": 10,
    "scan_bytes": 100 * MB,
    "shuffle_write_bytes": 80 * MB,
    "tasks": 40,
    "executor_cpu_ns": 10**10,
    "wall_ns": 5 * 10**9,
}


DEAR: Row = {"shuffle_write_bytes": 90 * MB, "tasks": 45, "executor_cpu_ns": 12 * 10**9, "wall_ns": 6 * 10**9}
"""Original, in trials."""


def ran(name: str, policy: str = FEWER.id, purpose: str = "production", **changes: Any) -> Execution:
    """One execution, by the columns it is stored in."""
    counters = dict.fromkeys(Counters.names(), 0) | PROVEN
    known = {"execution_id": name, "query_id": "q", "policy_id": policy, "purpose": purpose, "binding": 0, "cores": 2}
    return EXECUTIONS.from_row({**known, **counters, **changes})


def trials(**original: Any) -> list[Execution]:
    """Six pairs: original twice as dear, unless told."""
    clocks = [1.00, 1.02, 0.98, 1.01, 0.99, 1.00]
    return [
        timed(row, share)
        for share in clocks
        for row in (
            ran(f"tri-p-{share}", purpose="trial"),
            ran(f"tri-o-{share}", ORIGINAL.id, "trial", **{**DEAR, **original}),
        )
    ]


AS_BEFORE = ran("exe-o", ORIGINAL.id, **DEAR)
"""Original in the user's own job, at the price it has in trials."""


def changed(run: Execution, **changes: Any) -> Execution:
    """The same run with other values in some of its columns."""
    return replace(EXECUTIONS.from_row({**EXECUTIONS.to_row(run), **changes}), stamp=run.stamp)


def timed(run: Execution, share: float) -> Execution:
    known = {name: run.counter(name) for name in ("executor_cpu_ns", "wall_ns")}
    clocks = {name: int(value * share) for name, value in known.items() if value is not None}
    return replace(run, counters=replace(run.counters, **clocks))  # type: ignore[arg-type]


def grown(factor: float, **changes: Any) -> Execution:
    """A run on inputs `factor` times as large, at the same price for each row."""
    return ran("obs-later", **{**{name: int(value * factor) for name, value in PROVEN.items()}, **changes})


def slow(factor: float, runs: int, **changes: Any) -> list[Execution]:
    spread = [1.0, 1.03, 0.97, 1.02, 0.98]
    return [timed(ran(f"obs-{i}", **changes), factor * spread[i % len(spread)]) for i in range(runs)]


def at(moment: int, run: Execution) -> Execution:
    return replace(run, stamp=Stamp("run", sequence=moment))


def drawn(name: str, **changes: Any) -> Execution:
    return changed(AS_BEFORE, execution_id=name, control=True, **changes)
