"""Counters of one finished execution, summed from its stages, its plan and its scans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from planopt_assets.errors import QueryFailed
from planopt_assets.model.counters import Counters
from planopt_assets.model.plan import Plan
from planopt_assets.model.scan import ScanFacts
from planopt_assets.observe.explain.text import EXTRACTOR as EXPLAIN_TEXT
from planopt_assets.observe.plans.fingerprint import partition_count
from planopt_assets.observe.plans.metrics import (
    DATA_SIZE,
    FILE_BYTES,
    FILES,
    PEAK_MEMORY,
    ROWS,
    SHUFFLE_BYTES,
    SORT_FALLBACKS,
    total,
)

_MOST_ROW_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Elapsed:
    """Wall clock and CPU of the driver and its Python workers over one step; a user's job shares the process, so there
    the CPU is unknown.
    """

    wall_ns: int | None
    cpu_ns: int | None


def count(
    planning: Sequence[Elapsed],
    running: Elapsed,
    stages: list[dict[str, Any]],
    final: Plan | None,
    scans: Sequence[ScanFacts] | None,
    *,
    planning_jobs: int,
    jobs: int,
    result_rows: int | None,
    cpu_has_executors: bool,
    task_memory: int | None = None,
) -> Counters:
    """What is not there is unknown in the counters: the plan that ran, its scans, the CPU of the driver."""
    executor_cpu = _sum(stages, "executorCpuTime")
    planning_wall, planning_cpu = _known(c.wall_ns for c in planning), _known(c.cpu_ns for c in planning)
    writing_tasks = sum(s["numCompleteTasks"] for s in stages if s["shuffleWriteRecords"])
    return Counters(
        wall_ns=(planning_wall or 0) + (running.wall_ns or 0),
        cpu_ns=_cpu(planning_cpu, running.cpu_ns, executor_cpu, cpu_has_executors=cpu_has_executors),
        planning_wall_ns=planning_wall,
        planning_cpu_ns=planning_cpu,
        planning_jobs=planning_jobs,
        executor_cpu_ns=executor_cpu,
        executor_run_ns=_sum(stages, "executorRunTime") * 1_000_000,
        gc_ns=_sum(stages, "jvmGcTime") * 1_000_000,
        jobs=jobs,
        stages=len(stages),
        tasks=_sum(stages, "numCompleteTasks"),
        failed_tasks=_sum(stages, "numFailedTasks"),
        shuffle_write_tasks=writing_tasks,
        input_rows=_sum(stages, "inputRecords"),
        shuffle_write_bytes=_sum(stages, "shuffleWriteBytes"),
        shuffle_write_rows=_sum(stages, "shuffleWriteRecords"),
        shuffle_read_bytes=_sum(stages, "shuffleReadBytes"),
        fetch_wait_ns=_sum(stages, "shuffleFetchWaitTime") * 1_000_000,
        memory_spill_bytes=_sum(stages, "memoryBytesSpilled"),
        disk_spill_bytes=_sum(stages, "diskBytesSpilled"),
        peak_memory_bytes=max((s["peakExecutionMemory"] for s in stages), default=0),
        result_rows=result_rows,
        killed_tasks=_sum(stages, "numKilledTasks"),
        input_bytes=_sum(stages, "inputBytes"),
        shuffle_remote_bytes=_sum(stages, "shuffleRemoteBytesRead"),
        task_memory_bytes=task_memory,
        **_of_plan(final, scans, writing_tasks),
        **(_funnel(scans) if scans is not None else {}),
    )


def _cpu(planning: int | None, running: int | None, executors: int, *, cpu_has_executors: bool) -> int | None:
    if planning is None or running is None:
        return None
    return planning + with_executors(running, executors, cpu_has_executors=cpu_has_executors)


def with_executors(driver: int, executors: int, *, cpu_has_executors: bool) -> int:
    """In local mode tasks are threads of the driver; those that ended meanwhile are in the stages only."""
    return max(driver, executors) if cpu_has_executors else driver + executors


def _of_plan(final: Plan | None, scans: Sequence[ScanFacts] | None, writing_tasks: int) -> dict[str, int | None]:
    """What only the plan that ran tells; unknown where it is not at hand."""
    if final is None:
        return {"scan_files": None, "scan_bytes": None}
    return {
        "scan_files": _scanned(final, scans, FILES),
        "scan_bytes": _scanned(final, scans, FILE_BYTES),
        "broadcast_bytes": _broadcast(final),
        "cache_reads": sum(n.kind.startswith("InMemoryTableScan") for n in final.nodes),
        "shuffle_blocks": _blocks(writing_tasks, final),
        "map_memory_bytes": _map_memory(final),
        "sort_fallback_tasks": None if final.extractor == EXPLAIN_TEXT else total(final, SORT_FALLBACKS),
    }


def _scanned(final: Plan, scans: Sequence[ScanFacts] | None, metric: str) -> int:
    """What the scans' own metrics say; a plan that came as text has none, and Delta says what it left to read.

    A trial must not be judged by counters that are not there.
    """
    if final.extractor != EXPLAIN_TEXT:
        return total(final, metric)
    if scans is None:
        raise QueryFailed(
            "this Spark does not hand out its plans, so what a trial reads cannot be counted",
            where="counters",
            fix="set `mode: observe`: observations work without",
        )
    sizes = [scan.funnel.scanned for scan in scans]
    return sum((size.files if metric == FILES else size.bytes) or 0 for size in sizes)


def _broadcast(final: Plan) -> int | None:
    """A table that is broadcast tells the pages it holds: 64 MiB for 192 rows. So a row counts as 1 KiB at most."""
    if final.extractor == EXPLAIN_TEXT:
        return None
    tables = [n for n in final.nodes if n.kind == "BroadcastExchange"]
    return sum(min(n.metric(DATA_SIZE) or 0, (n.metric(ROWS) or 0) * _MOST_ROW_BYTES) for n in tables)


def _map_memory(final: Plan) -> int | None:
    """What the maps behind the fast ones held, over all tasks; the step that merges has no fast map before its own."""
    if final.extractor == EXPLAIN_TEXT:
        return None
    return sum(n.metric(PEAK_MEMORY) or 0 for n in final.nodes if n.kind == "HashAggregate")


def _blocks(writing_tasks: int, final: Plan) -> int:
    """Blocks all shuffles wrote; Spark does not say which stage wrote which shuffle, so partitions are averaged.

    Worked: 12 writing tasks, two shuffles into 200 partitions each: 2,400 blocks.
    """
    exchanges = [n for n in final.nodes if n.kind == "Exchange" and n.metric(SHUFFLE_BYTES)]
    partitions = sum(partition_count(n) or 1 for n in exchanges)
    return round(writing_tasks * partitions / len(exchanges)) if exchanges else 0


def _funnel(scans: Sequence[ScanFacts]) -> dict[str, int | None]:
    # A scan below a reused exchange never runs: its table was read, and is counted, once.
    funnels = [scan.funnel for scan in scans if scan.funnel.read.files is not None]
    return {
        "table_files": _known(f.total.files for f in funnels),
        "table_bytes": _known(f.total.bytes for f in funnels),
        "table_rows": _known(f.total.rows for f in funnels),
        "partition_files": _known(f.partition.files for f in funnels),
        "partition_bytes": _known(f.partition.bytes for f in funnels),
        "read_rows": _known(f.read.rows for f in funnels),
        "matched_rows": _known(f.matched.rows for f in funnels),
    }


def _known(values: Iterable[int | None]) -> int | None:
    """The sum, or None if one of them is not known: half a sum would be read as the whole."""
    found = list(values)
    return sum(v for v in found if v is not None) if all(v is not None for v in found) else None


def _sum(stages: list[dict[str, Any]], name: str) -> int:
    return sum(int(s[name]) for s in stages)
