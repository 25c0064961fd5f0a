"""Reads plans, metrics and stage counters out of the JVM in few calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from planopt_assets.engine.jvm.bridge import jvm_of
from planopt_assets.engine.jvm.plan_walk import PlanWalk, Walked
from planopt_assets.engine.jvm.questions import Questions
from planopt_assets.engine.jvm.scan_walk import AskedScan, ScanWalk
from planopt_assets.engine.sessions.session import FIRST_EXPRESSION_ID
from planopt_assets.errors import QueryFailed
from planopt_assets.model.plan import Plan
from planopt_assets.observe.explain.text import formatted_tree, parse_formatted
from planopt_assets.observe.plans.normalise import normalise
from planopt_assets.observe.pushdown.physical_plan import scan_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from py4j.java_gateway import JavaObject
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


_MOST_TASKS = 1000
_WALKS: WeakKeyDictionary[SparkContext, tuple[PlanWalk, ScanWalk]] = WeakKeyDictionary()


class PlanReading(NamedTuple):
    """One reading of a physical plan: as planopt stores it, as Spark showed it, and its metric values by id."""

    plan: Plan
    tree: dict[str, Any]
    metrics: dict[int, int]


def _walks(spark: SparkSession) -> tuple[PlanWalk, ScanWalk]:
    """Their questions take many calls to build, and are the same in all sessions of an application."""
    context = spark.sparkContext
    found = _WALKS.get(context)
    if found is None:
        questions = Questions(jvm_of(spark))
        found = _WALKS[context] = PlanWalk(questions), ScanWalk(questions)
    return found


class Capture:
    """Plan trees and stage counters of one Spark application, as plain data."""

    def __init__(self, spark: SparkSession, tables: Mapping[str, str]) -> None:
        self.jvm = jvm_of(spark)
        self.tables = tables  # location -> registered name; grows with the arms of the workspace it belongs to
        self._status = spark.sparkContext.statusTracker()
        self._context: Any = spark.sparkContext._jsc.sc()
        self._plan_info = self.jvm.scala_object("org.apache.spark.sql.execution.SparkPlanInfo")
        self._maximum = self.jvm.array(self.jvm.root.double, 1.0)  # the quantile that is the largest value
        self._walk, self._scans = _walks(spark)

    def plan(self, executed_plan: JavaObject, phase: str) -> Plan:
        """The current physical plan: `initial` before execution, `final` after it, with its metrics."""
        return self.read(executed_plan, phase).plan

    def read(
        self,
        executed_plan: JavaObject,
        phase: str,
        *,
        estimates: bool = False,
        explain: Callable[[], str] | None = None,
    ) -> PlanReading:
        """The same, with Spark's tree and the metric values.

        If Spark does not expose its tree (another build, another Jackson), the text of `explain` is read instead: the
        same operators, without metrics and estimates. `Plan.extractor` says which of the two was used.
        """
        from py4j.protocol import Py4JError

        try:
            tree = self.jvm.to_python(self._plan_info.fromSparkPlan(executed_plan))
        except (Py4JError, TypeError):  # TypeError: py4j raises it if a class does not exist
            if explain is None:
                raise
            return self._read_text(explain(), phase)
        walked = self._walk.walk(executed_plan) if estimates else Walked({}, [])
        if phase != "final":
            walked = Walked({}, walked.operators)  # nothing has been counted yet
        elif not estimates:
            walked = Walked(self._walk.metric_values(executed_plan), [])
        plan = normalise(
            tree,
            phase=phase,
            tables=self.tables,
            metric_values=walked.metrics,
            operators=walked.operators,
            first_id=FIRST_EXPRESSION_ID,
        )
        return PlanReading(plan, tree, walked.metrics)

    def _read_text(self, text: str, phase: str) -> PlanReading:
        plan = parse_formatted(text, phase=phase, tables=self.tables, first_id=FIRST_EXPRESSION_ID)
        return PlanReading(plan, formatted_tree(text, phase=phase, first_id=FIRST_EXPRESSION_ID), {})

    def stages(self, job_group: str) -> tuple[int, list[dict[str, Any]]]:
        """Number of jobs in a group, and the counters of every stage that ran."""
        self._context.listenerBus().waitUntilEmpty()
        jobs = self._status.getJobIdsForGroup(job_group)
        return len(jobs), self.stages_of(jobs)

    def stages_of(self, jobs: Sequence[int]) -> list[dict[str, Any]]:
        """The counters of every stage of these jobs that ran."""
        infos = [info for job in jobs if (info := self._status.getJobInfo(job)) is not None]
        if len(infos) < len(jobs):
            raise QueryFailed(
                f"Spark has forgotten the counters of {len(jobs) - len(infos)} jobs",
                where="counters",
                fix="raise `spark.ui.retainedJobs`",
            )
        attempts = self._attempts(jobs, sorted({stage for info in infos for stage in info.stageIds}))
        stages = self.jvm.to_python(attempts) if infos else []
        return [s for s in stages if s["numCompleteTasks"] or s["numFailedTasks"] or s["numKilledTasks"]]

    def tasks(self, stages: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
        """Every task of these stages, up to 1,000 per stage."""
        store = self._context.statusStore()
        held = self.jvm.ArrayList()
        for stage in sorted(stages, key=lambda s: int(s["stageId"])):
            held.add(store.taskList(stage["stageId"], stage["attemptId"], _MOST_TASKS))
        return list(self.jvm.to_python(held))

    def task_memory(self, stages: Sequence[dict[str, Any]]) -> int | None:
        """The execution memory of the task that held most. None: Spark has forgotten the tasks.

        A stage tells the sum over its tasks. So a stage whose sum is not above the largest task so far is not asked.
        """
        store, largest = self._context.statusStore(), 0
        for stage in sorted(stages, key=lambda s: -int(s["peakExecutionMemory"])):
            whole = int(stage["peakExecutionMemory"])
            if whole <= largest:
                break
            if stage["numCompleteTasks"] == 1:
                largest = whole
                continue
            quantiles = store.taskSummary(stage["stageId"], stage["attemptId"], self._maximum)
            if not quantiles.isDefined():
                return None
            largest = max(largest, int(quantiles.get().peakExecutionMemory().apply(0)))
        return largest

    def _attempts(self, jobs: Sequence[int], stages: Sequence[int]) -> JavaObject:
        """Spark drops old stages, skipped ones first. If a stage that ran is dropped, the counters would be wrong."""
        from py4j.protocol import Py4JJavaError

        store = self._context.statusStore()
        attempts = self.jvm.ArrayList()
        for stage in stages:
            try:
                attempts.add(store.lastStageAttempt(stage))
            except Py4JJavaError as error:
                if "NoSuchElement" not in str(error.java_exception.getClass().getName()):
                    raise
        missing = len(stages) - attempts.size()
        if missing and missing > sum(int(store.job(job).numSkippedStages()) for job in jobs):
            raise QueryFailed(
                f"Spark has forgotten the counters of {missing} stages",
                where="counters",
                fix="raise `spark.ui.retainedStages` in the workload file",
            )
        return attempts

    def hinted_joins(self, executed_plan: JavaObject) -> list[tuple[str, str]]:
        """Every join that a hint reached: the hint as Spark writes it, and the join's operator."""
        return self._walk.hinted_joins(executed_plan)

    def scans(self, initial_plan: JavaObject) -> list[AskedScan]:
        """Every file scan of a plan that has not run."""
        return self._scans.scans(initial_plan)

    def splits(self, scans: Sequence[AskedScan], tree: dict[str, Any]) -> dict[str, list[int]]:
        """Tasks of each scan, by table and in plan order. 0: known only at run time."""
        tasks = {(scan.path, scan.ids): scan.tasks for scan in scans}
        found: dict[str, list[int]] = {}
        for node in scan_nodes(tree):
            name = self.tables.get(node.path, "unregistered")
            found.setdefault(name, []).append(tasks.get((node.path, node.ids)) or 0)
        return found
