"""Reads plans, metrics and stage counters out of the JVM in few calls."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import orjson

from planopt_assets.engine.session import FIRST_EXPRESSION_ID
from planopt_assets.model.plan import Plan
from planopt_assets.observe.normalise import metric_ids, normalise
from planopt_assets.observe.signals import METRICS

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession


def scala_object(spark: SparkSession, name: str) -> Any:
    """The singleton of a Scala `object`, by its full name."""
    jvm: Any = spark._jvm
    for part in name.split("."):
        jvm = getattr(jvm, part + ("$" if part == name.rsplit(".", 1)[1] else ""))
    return getattr(jvm, "MODULE$")


class Capture:
    """Plan trees and stage counters of one Spark application, as plain data."""

    def __init__(self, spark: SparkSession, tables: dict[str, str]) -> None:
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._tables = tables
        self._status = spark.sparkContext.statusTracker()
        self._context: Any = spark.sparkContext._jsc.sc()
        self._mapper = jvm.com.fasterxml.jackson.databind.ObjectMapper()
        self._mapper.registerModule(scala_object(spark, "com.fasterxml.jackson.module.scala.DefaultScalaModule"))
        self._plan_info = scala_object(spark, "org.apache.spark.sql.execution.SparkPlanInfo")
        self._accumulators = scala_object(spark, "org.apache.spark.util.AccumulatorContext")

    def plan(self, executed_plan: JavaObject, phase: str, metrics: frozenset[str] = METRICS) -> Plan:
        """The physical plan as it stands now: `initial` before execution, `final` afterwards, with its metrics."""
        info = self._json(self._plan_info.fromSparkPlan(executed_plan))
        values = self._metric_values(metric_ids(info, metrics)) if phase == "final" else {}
        return normalise(info, phase=phase, tables=self._tables, metric_values=values, first_id=FIRST_EXPRESSION_ID)

    def stages(self, job_group: str) -> tuple[int, list[dict[str, Any]]]:
        """Number of jobs of a group, and the counters of every stage of theirs that ran."""
        self._context.listenerBus().waitUntilEmpty()
        jobs = self._status.getJobIdsForGroup(job_group)
        infos = [info for job in jobs if (info := self._status.getJobInfo(job)) is not None]
        ids = sorted({stage for info in infos for stage in info.stageIds})
        store = self._context.statusStore()
        stages = [self._json(store.lastStageAttempt(stage)) for stage in ids]
        return len(jobs), [s for s in stages if s["numCompleteTasks"] or s["numFailedTasks"] or s["numKilledTasks"]]

    def splits(self, initial_plan: JavaObject) -> dict[str, list[int]]:
        """Tasks each scan of a registered table is split into, per table in plan order; nothing runs."""
        found: dict[str, list[int]] = {}
        plan = initial_plan.initialPlan() if initial_plan.nodeName() == "AdaptiveSparkPlan" else initial_plan
        leaves = plan.collectLeaves()
        for leaf in (leaves.apply(i) for i in range(leaves.size())):
            if not leaf.getClass().getSimpleName().startswith("FileSourceScan"):
                continue
            roots = leaf.relation().location().rootPaths()
            name = self._tables.get(str(roots.head().toUri().getPath()).rstrip("/"), "unregistered")
            # With dynamic pruning the files are known only at run time.
            dynamic = "dynamicpruning" in leaf.partitionFilters().toString()
            found.setdefault(name, []).append(0 if dynamic else leaf.inputRDD().getNumPartitions())
        return found

    def _metric_values(self, ids: list[int]) -> dict[int, int]:
        values: dict[int, int] = {}
        for accumulator in ids:
            found = self._accumulators.get(accumulator)
            if found.isDefined():
                values[accumulator] = int(found.get().value())
        return values

    def _json(self, value: JavaObject) -> Any:
        """Zipped on the way: py4j takes 40 ms longer for any answer above 8 KB, and plans shrink tenfold."""
        held = self._jvm.java.io.ByteArrayOutputStream()
        self._mapper.writeValue(self._jvm.java.util.zip.GZIPOutputStream(held), value)
        return orjson.loads(gzip.decompress(held.toByteArray()))
