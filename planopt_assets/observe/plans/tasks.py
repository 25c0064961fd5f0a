"""Tasks of an execution, in tier `debug`. They show a task that took far longer than the others. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from planopt_assets.model.records import TaskRecord

Json = dict[str, Any]


def task_records(query_id: str, observation: str, stages: Sequence[Sequence[Json]]) -> Iterator[TaskRecord]:
    """One record per task. Stages are numbered in the order they ran; Spark's numbers count over all queries."""
    for stage, tasks in enumerate(stages):
        for task in sorted(tasks, key=lambda t: (t["index"], t["attempt"])):
            yield TaskRecord(
                query_id,
                observation,
                stage,
                task["index"],
                task["attempt"],
                task["status"],
                duration_ms=task.get("duration"),
                **_measured(task.get("taskMetrics") or {}),
            )


def _measured(metrics: Json) -> Json:
    """The counters of a task. Empty for a task that was killed before it counted anything."""
    read, wrote, input_ = (metrics.get(f"{part}Metrics") or {} for part in ("shuffleRead", "shuffleWrite", "input"))
    return {
        "cpu_ns": metrics.get("executorCpuTime"),
        "run_ms": metrics.get("executorRunTime"),
        "gc_ms": metrics.get("jvmGcTime"),
        "input_bytes": input_.get("bytesRead"),
        "input_rows": input_.get("recordsRead"),
        "shuffle_read_bytes": _sum(read, "localBytesRead", "remoteBytesRead"),
        "shuffle_read_rows": read.get("recordsRead"),
        "shuffle_write_bytes": wrote.get("bytesWritten"),
        "shuffle_write_rows": wrote.get("recordsWritten"),
        "memory_spill_bytes": metrics.get("memoryBytesSpilled"),
        "disk_spill_bytes": metrics.get("diskBytesSpilled"),
        "peak_memory_bytes": metrics.get("peakExecutionMemory"),
    }


def _sum(metrics: Json, *names: str) -> int | None:
    return sum(metrics[name] for name in names) if metrics else None
