"""Runs one query once under one session and says what it cost and what it returned.

The whole result is produced and thrown away row by row. A `noop` write would do the same, but Delta leaves scans
unprepared under any DataSource V2 write, so sizes after skipping are unknown and joins may be planned differently
from the query the user runs; executing the query's own plan keeps them the same.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.execution.bounded import Step, bounded
from planopt_assets.engine.execution.counting import Elapsed, count
from planopt_assets.engine.execution.cpu_limit import CpuLimit
from planopt_assets.engine.execution.disturbance import disturbance, ran_again
from planopt_assets.engine.execution.stragglers import by_executor, straggler
from planopt_assets.engine.jvm.active_session import active
from planopt_assets.engine.results.digest import in_sequence, read_digest, sequence_of, with_digest
from planopt_assets.engine.sessions.session import FIRST_EXPRESSION_ID
from planopt_assets.errors import QueryFailed
from planopt_assets.model.counters import Counters
from planopt_assets.model.plan import Plan
from planopt_assets.model.trial import Digest
from planopt_assets.observe.signals.targets import join_targets

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from planopt_assets.engine.capture.capture import Capture
    from planopt_assets.engine.capture.inspector import Inspector
    from planopt_assets.engine.capture.scans import ScanReader
    from planopt_assets.engine.execution.executor_python import ExecutorPython
    from planopt_assets.engine.execution.program_cpu import ProgramCpu
    from planopt_assets.engine.sessions.executors import Executors
    from planopt_assets.model.bundle import Planned
    from planopt_assets.model.scan import ScanFacts, TableScanInfo
    from planopt_assets.model.workload import CaptureTier


@dataclass(frozen=True, slots=True)
class Measured:
    """What the engine measured of one execution: counters, digest of the result, and the plan it ended with.

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
    disturbed: str = ""  # by what, from outside; such an execution says nothing about time
    join_targets: dict[int, tuple[str, str]] = field(default_factory=dict)  # by join of the final plan, for hints
    tasks: list[list[dict[str, Any]]] = field(default_factory=list)  # by stage, as Spark tells them; tier `debug`


@dataclass(frozen=True, slots=True)
class Instruments:
    """What an execution is measured and read with; one set for a Spark application."""

    capture: Capture
    scans: ScanReader
    inspector: Inspector
    cpu: ProgramCpu
    executors: Executors
    python: ExecutorPython


def planned(
    spark: SparkSession, build: Callable[[], DataFrame], *, tag: str, timeout_s: float, capture: Capture
) -> tuple[Plan, dict[str, list[int]]]:
    """The plan of a frame and how its scans are split; nothing is executed but Delta's own log reads."""

    def plan(step: Step) -> tuple[Plan, dict[str, list[int]]]:
        with active(spark):
            frame: Any = build()
            executed_plan = frame._jdf.queryExecution().executedPlan()
            seen = capture.read(executed_plan, "initial")
            return seen.plan, capture.splits(capture.scans(executed_plan), seen.tree)

    return bounded(spark.sparkContext, plan, tag=tag, timeout_s=timeout_s)


def execute(
    spark: SparkSession,
    build: Callable[[], DataFrame],
    *,
    tag: str,
    timeout_s: float,
    tier: CaptureTier | None,
    instruments: Instruments,
    digest: bool = True,
    in_order: bool = False,
    cpu_limit_s: float | None = None,
) -> Measured:
    """Build, plan and run a frame; planning jobs are counted apart from the query's own.

    With `in_order` the digest covers the place of every row too; their hashes are collected, eight bytes each.
    Without a `tier` only counters and the digest are read: enough for a trial. Past its time it is cancelled. If it
    hangs in planning, which nothing can cancel, it is left behind (`QueryHangs`); its session must not be used again.
    Past `cpu_limit_s` seconds of CPU it is cancelled too (`QueryOutdone`).
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    capture, cpu = instruments.capture, instruments.cpu
    executors = instruments.executors.whole()
    try:
        run = bounded(
            spark.sparkContext,
            lambda step: _run(
                spark, build, step, tag=tag, tier=tier, instruments=instruments, digest=digest, in_order=in_order
            ),
            tag=tag,
            timeout_s=timeout_s,
            outdone=None if cpu_limit_s is None else CpuLimit(cpu, cpu_limit_s, spark.sparkContext.defaultParallelism),
        )
    except (Py4JJavaError, PySparkException) as error:
        raise QueryFailed(
            _first_line(error), where=tag, fix="run the query by itself to see Spark's full error"
        ) from error
    final, tree, metrics = capture.read(
        run.executed_plan,
        "final",
        estimates=tier is not None,
        explain=partial(instruments.inspector.explained, run.query_execution),
    )
    result = read_digest(run.query_execution, run.frame.schema, run.sequence) if digest else None
    planning_jobs, _ = capture.stages(f"{tag}:plan")
    jobs, stages = capture.stages(f"{tag}:run")
    scans = instruments.scans.measured(run.scans, tree, metrics) if run.scans is not None else None
    counters = count(
        run.planning,
        run.running,
        stages,
        final,
        scans,
        planning_jobs=planning_jobs,
        jobs=jobs,
        result_rows=run.rows,
        cpu_has_executors=cpu.includes_executors,
        task_memory=capture.task_memory(stages),
    )
    held_up = _held_up(instruments, run.executed_plan, stages)
    changed = instruments.executors.disturbed(executors)
    disturbed = disturbance(counters.failed_tasks, changed, held_up, ran_again(stages))
    if tier is None:
        return Measured(counters, result, final, disturbed=disturbed)
    analyzed = instruments.inspector.analyzed(run.frame)
    return Measured(
        counters,
        result,
        final,
        run.initial,
        run.splits,
        scans or (),
        run.scans.offers if run.scans is not None else {},
        instruments.inspector.planned(
            spark, run.frame, run.query_execution, analyzed, run.optimized_tree, run.explained
        ),
        disturbed,
        join_targets(tree, analyzed, FIRST_EXPRESSION_ID),
        capture.tasks(stages) if tier == "debug" else [],
    )


def _held_up(instruments: Instruments, executed_plan: Any, stages: list[dict[str, Any]]) -> str:
    """Which executor was held up. Where Python runs, CPU of tasks is not what they did, and nobody can tell."""
    if instruments.executors.alone or instruments.python.runs_in(executed_plan):
        return ""
    return straggler([by_executor(tasks) for tasks in instruments.capture.tasks(stages)])


@dataclass(frozen=True, slots=True)
class _Run:
    """What the thread that built, planned and ran a frame hands back."""

    frame: DataFrame
    query_execution: Any
    executed_plan: Any
    rows: int
    planning: list[Elapsed]
    running: Elapsed
    initial: Plan | None
    splits: dict[str, list[int]]
    scans: Any  # as planned; None where the plan was not asked for
    optimized_tree: list[Any]
    explained: Any
    sequence: str | None


def _run(
    spark: SparkSession,
    build: Callable[[], DataFrame],
    step: Step,
    *,
    tag: str,
    tier: CaptureTier | None,
    instruments: Instruments,
    digest: bool,
    in_order: bool,
) -> _Run:
    """All that must happen in one thread: job groups and the active session are those of the thread."""
    capture, cpu, context = instruments.capture, instruments.cpu, spark.sparkContext
    with active(spark):
        context.setJobGroup(f"{tag}:plan", f"planopt plans {tag}")
        building = _Stopwatch(cpu)
        frame = build()
        built = building.stop()
        measured: Any = with_digest(frame) if digest else frame  # planopt's own work: on no clock
        measured = in_sequence(measured) if in_order else measured
        planning = _Stopwatch(cpu)
        query_execution = measured._jdf.queryExecution()
        executed_plan = query_execution.executedPlan()
        optimized = planning.stop()
        initial, splits, planned_scans, optimized_tree, explained = None, {}, None, [], None
        if tier:
            explain = partial(instruments.inspector.explained, query_execution)
            explained = explain() if tier == "debug" else None
            seen = capture.read(executed_plan, "initial", estimates=True, explain=explain)
            asked = capture.scans(executed_plan)
            initial, splits = seen.plan, capture.splits(asked, seen.tree)
            optimized_tree = capture.jvm.tree(query_execution.optimizedPlan())
            planned_scans = instruments.scans.planned(executed_plan, asked, seen.tree, optimized_tree)
        context.setJobGroup(f"{tag}:python", f"planopt reads the CPU of Python for {tag}")
        with_python = instruments.python.started(executed_plan)
        context.setJobGroup(f"{tag}:run", f"planopt runs {tag}")
        step.now = "running"
        running = _Stopwatch(cpu)
        rows, sequence = sequence_of(measured) if in_order else (int(query_execution.toRdd().count()), None)
        ran = running.stop()
        context.setJobGroup(f"{tag}:python", f"planopt reads the CPU of Python for {tag}")
        ran = with_python(ran)
    return _Run(
        frame,
        query_execution,
        executed_plan,
        rows,
        [built, optimized],
        ran,
        initial,
        splits,
        planned_scans,
        optimized_tree,
        explained,
        sequence,
    )


class _Stopwatch:
    """Started when made; `stop` tells the wall clock and the CPU of driver and Python workers since."""

    def __init__(self, cpu: ProgramCpu) -> None:
        self._cpu, self._start = cpu, cpu.read()
        self._wall = time.perf_counter_ns()

    def stop(self) -> Elapsed:
        wall = time.perf_counter_ns() - self._wall
        return Elapsed(wall, self._cpu.since(self._start))


def _first_line(error: BaseException) -> str:
    """Spark's own error class and sentence, without the JVM's stack."""
    java = getattr(error, "java_exception", None)
    while java is not None and java.getCause() is not None:
        java = java.getCause()
    text = str(java.getMessage()) if java is not None else str(error)
    return text.strip().splitlines()[0][:400] if text.strip() else type(error).__name__
