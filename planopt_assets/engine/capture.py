"""Reads plans, metrics and stage counters out of the JVM in few calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from planopt_assets.engine.jvm import Jvm, each
from planopt_assets.engine.plan_walk import PlanWalk
from planopt_assets.engine.session import FIRST_EXPRESSION_ID
from planopt_assets.errors import QueryFailed
from planopt_assets.model.plan import Plan
from planopt_assets.observe.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession


class PlanReading(NamedTuple):
    """One look at a physical plan: as planopt keeps it, as Spark showed it, and the values of its metrics by id."""

    plan: Plan
    tree: dict[str, Any]
    metrics: dict[int, int]


class Capture:
    """Plan trees and stage counters of one Spark application, as plain data."""

    def __init__(self, spark: SparkSession, tables: dict[str, str]) -> None:
        self.jvm = Jvm(spark)
        self.tables = tables
        self._status = spark.sparkContext.statusTracker()
        self._context: Any = spark.sparkContext._jsc.sc()
        self._plan_info = self.jvm.scala_object("org.apache.spark.sql.execution.SparkPlanInfo")
        self._walk = PlanWalk(self.jvm)

    def plan(self, executed_plan: JavaObject, phase: str) -> Plan:
        """The physical plan as it stands now: `initial` before execution, `final` afterwards, with its metrics."""
        return self.read(executed_plan, phase).plan

    def read(self, executed_plan: JavaObject, phase: str, *, estimates: bool = False) -> PlanReading:
        """The same with what it was made from, for those who need more of it than the plan."""
        tree = self.jvm.to_python(self._plan_info.fromSparkPlan(executed_plan))
        metrics = self._walk.metric_values(executed_plan) if phase == "final" else {}
        plan = normalise(
            tree,
            phase=phase,
            tables=self.tables,
            metric_values=metrics,
            operators=self._walk.operators(executed_plan) if estimates else (),
            first_id=FIRST_EXPRESSION_ID,
        )
        return PlanReading(plan, tree, metrics)

    def stages(self, job_group: str) -> tuple[int, list[dict[str, Any]]]:
        """Number of jobs of a group, and the counters of every stage of theirs that ran."""
        self._context.listenerBus().waitUntilEmpty()
        jobs = self._status.getJobIdsForGroup(job_group)
        return len(jobs), self.stages_of(jobs)

    def stages_of(self, jobs: Sequence[int]) -> list[dict[str, Any]]:
        """The counters of every stage of some jobs that ran."""
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

    def _attempts(self, jobs: Sequence[int], stages: Sequence[int]) -> JavaObject:
        """Spark forgets skipped stages first once it holds many; one that ran and is forgotten makes counters wrong."""
        from py4j.protocol import Py4JJavaError

        store = self._context.statusStore()
        attempts = self.jvm.java.util.ArrayList()
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
        """Every join that a hint reached: the hint in Spark's words, and the operator it became."""
        return self._walk.hinted_joins(executed_plan)

    def splits(self, initial_plan: JavaObject) -> dict[str, list[int]]:
        """Tasks each scan of a registered table is split into, per table in plan order; nothing runs."""
        found: dict[str, list[int]] = {}
        plan = initial_plan.initialPlan() if initial_plan.nodeName() == "AdaptiveSparkPlan" else initial_plan
        for leaf in each(plan.collectLeaves()):
            if not leaf.getClass().getSimpleName().startswith("FileSourceScan"):
                continue
            roots = leaf.relation().location().rootPaths()
            name = self.tables.get(str(roots.head().toUri().getPath()).rstrip("/"), "unregistered")
            # What a join or a sub-query will prune is known only at run time.
            filters = f"{leaf.partitionFilters().toString()}{leaf.dataFilters().toString()}".lower()
            dynamic = "dynamicpruning" in filters or "subquery" in filters
            found.setdefault(name, []).append(0 if dynamic else leaf.inputRDD().getNumPartitions())
        return found
