"""Counters of executions that never ran, in units people think in."""

from __future__ import annotations

from typing import Any

from planopt_assets.model.counters import Counters

MIB = 1024 * 1024


def counters(cpu_s: float = 3.0, wall_s: float | None = None, **others: Any) -> Counters:
    """One quiet execution: no spill, no failed task; the clock runs as long as the CPU unless told otherwise."""
    quiet: dict[str, int] = dict.fromkeys(Counters.names(), 0) | {
        "cpu_ns": round(cpu_s * 1e9),
        "wall_ns": round((cpu_s if wall_s is None else wall_s) * 1e9),
        "tasks": 100,
        "scan_bytes": 100 * MIB,
        "scan_files": 10,
        "shuffle_write_bytes": 100 * MIB,
        "peak_memory_bytes": 100 * MIB,
        "task_memory_bytes": 50 * MIB,
    }
    return Counters(**(quiet | others))
