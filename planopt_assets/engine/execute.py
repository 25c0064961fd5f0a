"""Runs one query once under one session and says what it cost and what it returned.

The whole result is produced and thrown away row by row. A `noop` write would do the same, but Delta leaves scans
unprepared under any DataSource V2 write, so sizes after skipping are unknown and joins may be planned differently
from the query the user runs; executing the query's own plan keeps them the same.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.counting import Clock, count
from planopt_assets.engine.digest import read_digest, with_digest
from planopt_assets.errors import QueryFailed, QueryTimedOut
from planopt_assets.model.counters import Counters
from planopt_assets.model.plan import Plan
from planopt_assets.model.trial import Digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from planopt_assets.engine.capture import Capture
    from planopt_assets.engine.inspect import Inspector
    from planopt_assets.engine.process_cpu import ProcessCpu
    from planopt_assets.engine.scans import ScanReader
    from planopt_assets.model.bundle import Planned
    from planopt_assets.model.scan import ScanFacts, TableScanInfo
    from planopt_assets.model.workload import CaptureTier

_CANCEL_EVERY_S = 0.2  # a cancel sent before a job exists is lost: repeat it


@dataclass(frozen=True, slots=True)
class Execution:
    """One finished execution: counters, digest of the result, and the plan it ended with.

    The rest is there only where the plan itself was asked for.
    """

    counters: Counters
    digest: Digest | None  # None where it was not asked for
    final: Plan
    initial: Plan | None = None
    splits: dict[str, list[int]] = field(default_factory=dict)
    scans: tuple[ScanFacts, ...] = ()
    offers: dict[str, TableScanInfo] = field(default_factory=dict)  # by table
    planned: Planned | None = None
    tasks: list[list[dict[str, Any]]] = field(default_factory=list)  # by stage, as Spark tells them; tier `debug`


@dataclass(frozen=True, slots=True)
class Instruments:
    """What an execution is measured and read with; one set for a Spark application."""

    capture: Capture
    scans: ScanReader
    inspector: Inspector
    cpu: ProcessCpu


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
    tier: CaptureTier | None,
    instruments: Instruments,
    digest: bool = True,
) -> Execution:
    """Build, plan and run a frame; planning jobs are counted apart from the query's own.

    Without a `tier` only counters and the digest are read: enough for a trial.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    capture, cpu = instruments.capture, instruments.cpu
    context = spark.sparkContext
    watchdog = _Watchdog(context, tag, timeout_s)
    try:
        with watchdog, _active(spark):
            context.setJobGroup(f"{tag}:plan", f"planopt plans {tag}")
            building = _Stopwatch(cpu)
            frame = build()
            built = building.stop()
            measured: Any = with_digest(frame) if digest else frame  # planopt's own work: on no clock
            planning = _Stopwatch(cpu)
            query_execution = measured._jdf.queryExecution()
            executed_plan = query_execution.executedPlan()
            optimized = planning.stop()
            explain = partial(instruments.inspector.explained, query_execution)
            initial, splits, planned_scans, optimized_tree, explained = None, {}, None, [], None
            if tier:
                explained = explain() if tier == "debug" else None
                seen = capture.read(executed_plan, "initial", estimates=True, explain=explain)
                initial, splits = seen.plan, capture.splits(executed_plan)
                optimized_tree = capture.jvm.tree(query_execution.optimizedPlan())
                planned_scans = instruments.scans.planned(executed_plan, seen.tree, optimized_tree)
            context.setJobGroup(f"{tag}:run", f"planopt runs {tag}")
            running = _Stopwatch(cpu)
            rows = int(query_execution.toRdd().count())
            ran = running.stop()
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
    final, tree, metrics = capture.read(executed_plan, "final", estimates=tier is not None, explain=explain)
    types = [f.dataType for f in frame.schema.fields]
    result = read_digest(query_execution, frame.columns, types) if digest else None
    planning_jobs, _ = capture.stages(f"{tag}:plan")
    jobs, stages = capture.stages(f"{tag}:run")
    scans = instruments.scans.measured(planned_scans, tree, metrics) if planned_scans is not None else None
    counters = count(
        [built, optimized],
        ran,
        stages,
        final,
        scans,
        planning_jobs=planning_jobs,
        jobs=jobs,
        result_rows=rows,
        cpu_has_executors=cpu.includes_executors,
    )
    if tier is None:
        return Execution(counters, result, final)
    return Execution(
        counters,
        result,
        final,
        initial,
        splits,
        scans or (),
        {scan.table: instruments.scans.offers(scan) for scan in scans or ()},
        instruments.inspector.planned(spark, frame, query_execution, optimized_tree, explained),
        capture.tasks(stages) if tier == "debug" else [],
    )


@contextmanager
def _active(session: SparkSession) -> Iterator[None]:
    """Delta lists the files of an unprepared scan by the settings of the thread's active session, not the query's."""
    sessions: Any = session._get_j_spark_session_class(session._jvm)
    before = sessions.getActiveSession()
    sessions.setActiveSession(session._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


class _Stopwatch:
    """Started when made; `stop` tells the wall clock and the CPU of the driver process since."""

    def __init__(self, cpu: ProcessCpu) -> None:
        self._cpu = cpu
        self._wall, self._cpu_ns = time.perf_counter_ns(), cpu.read_ns()

    def stop(self) -> Clock:
        return Clock(time.perf_counter_ns() - self._wall, self._cpu.read_ns() - self._cpu_ns)


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


def _first_line(error: BaseException) -> str:
    """Spark's own error class and sentence, without the JVM's stack."""
    java = getattr(error, "java_exception", None)
    while java is not None and java.getCause() is not None:
        java = java.getCause()
    text = str(java.getMessage()) if java is not None else str(error)
    return text.strip().splitlines()[0][:400] if text.strip() else type(error).__name__
