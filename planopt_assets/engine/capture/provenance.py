"""Reads what shapes plans from a Spark session: settings in force, versions, and the planner's rules in order."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.jvm.bridge import each
from planopt_assets.engine.jvm.started_with import started_memory, started_with
from planopt_assets.engine.sessions.executors import Executors
from planopt_assets.engine.sessions.python_workers import without_own_defaults, workers_in_force
from planopt_assets.model.provenance import Planning, PlanningEnvironment, Rulepack
from planopt_assets.observe.plans.udfs import UDF_SETTINGS
from planopt_assets.observe.tables.planning_settings import recordable

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

    from planopt_assets.engine.jvm.bridge import Jvm

_RULE = "org.apache.spark.sql.catalyst.rules.Rule"


def planning_environment(session: SparkSession, jvm: Jvm) -> PlanningEnvironment:
    """Documented settings with their effective values, and undocumented ones that are set."""
    conf: Any = session._jsparkSession.sessionState().conf()
    defined = {name: value for name, value, _, _ in jvm.to_python(conf.getAllDefinedConfs())}
    values = without_own_defaults(defined, jvm.to_python(conf.getAllConfs()))
    # Settings of Python workers belong to the application. Spark does not list them, and knows them only if set.
    values |= {name: "<default>" for name in UDF_SETTINGS if name not in values}
    return PlanningEnvironment(
        recordable(values), tuple(sorted(_environment(session).items())), workers_in_force(session)
    )


def _environment(session: SparkSession) -> dict[str, str]:
    from importlib.metadata import version

    context = session.sparkContext
    java: Any = session._jvm.java.lang.System  # type: ignore[union-attr]
    return {
        "spark": session.version,
        "delta": version("delta-spark"),
        "java": str(java.getProperty("java.version")),
        "scala": str(session._jvm.scala.util.Properties.versionNumberString()),  # type: ignore[union-attr]
        "python": platform.python_version(),
        "master": str(context.master).split("://")[0],  # without the host, which does not shape plans
        "cores": str(Executors(session).cores),
        **started_memory(context),
        "executor_cores": started_with(context, "spark.executor.cores") or "",
    }


def rulepack(session: SparkSession, jvm: Jvm) -> Rulepack:
    """Analyzer, optimizer, planner, preparation and adaptive rules, as this session applies them.

    Only an adaptive plan holds the adaptive rules. So a query with a shuffle is planned for it; nothing runs.
    """
    state: Any = session._jsparkSession.sessionState()
    execution: Any = session.range(1).repartition(2)._jdf.queryExecution()
    rule_name, class_of = jvm.getter(_RULE, "ruleName"), jvm.getter("java.lang.Object", "getClass")
    batches: list[tuple[str, Any]] = []
    for phase, rules in (("analyze", state.analyzer()), ("optimize", state.optimizer())):
        batches += [(f"{phase}: {batch.name()}", batch.rules().map(rule_name)) for batch in each(rules.batches())]
    class_names = state.planner().strategies().map(class_of).map(jvm.getter("java.lang.Class", "getName"))
    batches.append(("plan: strategies", class_names))
    batches.append(("prepare: preparations", execution.preparations().map(rule_name)))
    executed = execution.executedPlan()
    if executed.nodeName() == "AdaptiveSparkPlan":
        for field in ("queryStagePreparationRules", "queryStageOptimizerRules"):
            batches.append((f"adapt: {field}", _field(executed, field).map(rule_name)))
    held = jvm.ArrayList()
    for _, names in batches:
        held.add(names)
    return Rulepack(tuple((name, tuple(names)) for (name, _), names in zip(batches, jvm.to_python(held), strict=True)))


def planning(written: JavaObject, executed: JavaObject, jvm: Jvm) -> Planning:
    """The rules that changed this query's plan, and the time of each phase.

    Analysis is read from the query as `written`. The other phases are read from what was `executed`, which has
    planopt's digest on top.
    """
    effective: set[str] = set()
    phases: dict[str, dict[str, int]] = {}
    for execution in (executed, written):
        tracker: Any = execution.tracker()
        rules = jvm.to_python(tracker.rules())
        effective |= {name for name, rule in rules.items() if rule["numEffectiveInvocations"]}
        phases |= jvm.to_python(tracker.phases())
    return Planning(
        effective_rules=tuple(sorted(effective)),
        phase_ms=tuple(sorted((name, int(p["endTimeMs"] - p["startTimeMs"])) for name, p in phases.items())),
    )


def _field(owner: Any, name: str) -> Any:
    """A private field. Spark offers no other way to read the adaptive rules."""
    field = owner.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(owner)
