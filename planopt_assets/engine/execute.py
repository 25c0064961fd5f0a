"""Runs one query once under one session and says what it cost and what it returned.

The whole result is produced and thrown away row by row. A `noop` write would do the same, but Delta leaves scans
unprepared under any DataSource V2 write, so sizes after skipping are unknown and joins may be planned differently
from the query the user runs; executing the query's own plan keeps them the same.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.digest import read_digest, with_digest
from planopt_assets.errors import QueryFailed, QueryTimedOut
from planopt_assets.model.counters import Counters
from planopt_assets.model.plan import Plan
from planopt_assets.model.trial import Digest
from planopt_assets.observe.signals import FILE_BYTES, FILES, SCAN_METRICS

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from planopt_assets.engine.capture import Capture
    from planopt_assets.engine.process_cpu import ProcessCpu

_CANCEL_EVERY_S = 0.2  # a cancel sent before a job exists is lost: repeat it


@dataclass(frozen=True, slots=True)
class Execution:
    """One finished execution: counters, digest of the result, and the plan before and after."""

    counters: Counters
    digest: Digest
    final: Plan
    initial: Plan | None = None  # with `splits`, only where the plan itself is asked for
    splits: dict[str, list[int]] = field(default_factory=dict)


def planned(frame: DataFrame, capture: Capture) -> tuple[Plan, dict[str, list[int]]]:
    """The plan of a frame and how its scans are split; nothing is executed but Delta's own log reads."""
    executed_plan = frame._jdf.queryExecution().executedPlan()
    return capture.plan(executed_plan, "initial"), capture.splits(executed_plan)


def execute(
    spark: SparkSession,
    build: Callable[[], DataFrame],
    *,
    tag: str,
    timeout_s: float,
    with_plan: bool,
    capture: Capture,
    cpu: ProcessCpu,
) -> Execution:
    """Build, plan and run a frame; planning jobs are counted apart from the query's own."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    context = spark.sparkContext
    watchdog = _Watchdog(context, tag, timeout_s)
    try:
        with watchdog:
            context.setJobGroup(f"{tag}:plan", f"planopt plans {tag}")
            building = _Stopwatch(cpu)
            frame = build()
            building.stop()
            measured: Any = with_digest(frame)  # planopt's own work: on no clock
            planning = _Stopwatch(cpu)
            query_execution = measured._jdf.queryExecution()
            executed_plan = query_execution.executedPlan()
            planning.stop()
            initial = capture.plan(executed_plan, "initial") if with_plan else None
            splits = capture.splits(executed_plan) if with_plan else {}
            context.setJobGroup(f"{tag}:run", f"planopt runs {tag}")
            running = _Stopwatch(cpu)
            query_execution.toRdd().count()
            running.stop()
    except (Py4JJavaError, PySparkException) as error:
        if watchdog.fired:
            raise QueryTimedOut(
                f"stopped after {timeout_s:.0f} s", where=tag, fix="raise the budget if it should be given more time"
            ) from error
        raise QueryFailed(
            _first_line(error), where=tag, fix="run the query by itself to see Spark's full error"
        ) from error
    finally:
        context._jsc.clearJobGroup()
    final = capture.plan(executed_plan, "final") if with_plan else capture.plan(executed_plan, "final", SCAN_METRICS)
    digest = read_digest(query_execution, frame.columns, [f.dataType for f in frame.schema.fields])
    planning_jobs, _ = capture.stages(f"{tag}:plan")
    jobs, stages = capture.stages(f"{tag}:run")
    executor_cpu = _sum(stages, "executorCpuTime")
    counters = Counters(
        wall_ns=building.wall_ns + planning.wall_ns + running.wall_ns,
        cpu_ns=building.cpu_ns + planning.cpu_ns + running.cpu_ns + (0 if cpu.includes_executors else executor_cpu),
        planning_wall_ns=building.wall_ns + planning.wall_ns,
        planning_cpu_ns=building.cpu_ns + planning.cpu_ns,
        planning_jobs=planning_jobs,
        executor_cpu_ns=executor_cpu,
        executor_run_ns=_sum(stages, "executorRunTime") * 1_000_000,
        gc_ns=_sum(stages, "jvmGcTime") * 1_000_000,
        jobs=jobs,
        stages=len(stages),
        tasks=_sum(stages, "numCompleteTasks"),
        failed_tasks=_sum(stages, "numFailedTasks"),
        shuffle_write_tasks=sum(s["numCompleteTasks"] for s in stages if s["shuffleWriteRecords"]),
        input_rows=_sum(stages, "inputRecords"),
        scan_files=sum(n.metric(FILES) or 0 for n in final.nodes),
        scan_bytes=sum(n.metric(FILE_BYTES) or 0 for n in final.nodes),
        shuffle_write_bytes=_sum(stages, "shuffleWriteBytes"),
        shuffle_write_rows=_sum(stages, "shuffleWriteRecords"),
        shuffle_read_bytes=_sum(stages, "shuffleReadBytes"),
        fetch_wait_ns=_sum(stages, "shuffleFetchWaitTime") * 1_000_000,
        memory_spill_bytes=_sum(stages, "memoryBytesSpilled"),
        disk_spill_bytes=_sum(stages, "diskBytesSpilled"),
        peak_memory_bytes=max((s["peakExecutionMemory"] for s in stages), default=0),
        result_rows=digest.rows,
    )
    return Execution(counters, digest, final, initial, splits)


class _Stopwatch:
    """Wall clock and CPU of the driver process over one step."""

    def __init__(self, cpu: ProcessCpu) -> None:
        self._cpu = cpu
        self._wall, self._cpu_ns = time.perf_counter_ns(), cpu.read_ns()
        self.wall_ns = self.cpu_ns = 0

    def stop(self) -> None:
        self.wall_ns, self.cpu_ns = time.perf_counter_ns() - self._wall, self._cpu.read_ns() - self._cpu_ns


class _Watchdog:
    """Cancels every job of one execution once its time is up, again and again until the execution ends."""

    def __init__(self, context: Any, tag: str, timeout_s: float) -> None:
        self._context, self._tag, self._timeout_s = context, f"planopt-{tag.replace(',', '_')}", timeout_s
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.fired = False

    def __enter__(self) -> None:
        self._context.addJobTag(self._tag)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self._context.removeJobTag(self._tag)

    def _watch(self) -> None:
        if self._done.wait(self._timeout_s):
            return
        self.fired = True
        while not self._done.wait(_CANCEL_EVERY_S):
            self._context.cancelJobsWithTag(self._tag)


def _sum(stages: list[dict[str, Any]], name: str) -> int:
    return sum(int(s[name]) for s in stages)


def _first_line(error: BaseException) -> str:
    """Spark's own error class and sentence, without the JVM's stack."""
    java = getattr(error, "java_exception", None)
    while java is not None and java.getCause() is not None:
        java = java.getCause()
    text = str(java.getMessage()) if java is not None else str(error)
    return text.strip().splitlines()[0][:400] if text.strip() else type(error).__name__
