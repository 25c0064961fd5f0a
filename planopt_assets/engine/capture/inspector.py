"""Reads how a query was planned, as plain data: logical plans, rules, settings, EXPLAIN texts."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from planopt_assets.engine.capture.provenance import planning, planning_environment, rulepack
from planopt_assets.model.bundle import Planned
from planopt_assets.observe.plans.logical import normalise_logical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame, SparkSession

    from planopt_assets.engine.capture.capture import Capture
    from planopt_assets.model.provenance import PlanningEnvironment, Rulepack
    from planopt_assets.observe.plans.plan_json import Json

FORMATTED, FORMATTED_FINAL = "formatted", "formatted_final"


class Inspector:
    """Settings and rules are read once per session, the rest for every query."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        # By session, not by its id: that of a session which was given up may be given out again.
        self._environments: WeakKeyDictionary[SparkSession, PlanningEnvironment] = WeakKeyDictionary()
        self._rulepacks: WeakKeyDictionary[SparkSession, Rulepack] = WeakKeyDictionary()

    def explained(self, executed: JavaObject) -> str:
        """The current plan as text."""
        return self._capture.jvm.explained(executed, "formatted")

    def analyzed(self, frame: DataFrame) -> list[Json]:
        """The analysed plan of the query as its author wrote it, as Spark's JSON."""
        tree: list[Json] = self._capture.jvm.tree(frame._jdf.queryExecution().analyzed())
        return tree

    def planned(
        self,
        session: SparkSession,
        frame: DataFrame,
        executed: JavaObject,
        analyzed: Sequence[Json],
        optimized: Sequence[Json],
        before: str | None = None,
    ) -> Planned:
        """`executed` is the measured query execution. `frame` is the query as its author wrote it.

        `analyzed` and `optimized` are the logical plans as JSON. `before` is the EXPLAIN text from before the run, in
        tier debug: after the run Spark shows only the sub-queries of the final plan.
        """
        jvm, tables = self._capture.jvm, self._capture.tables
        return Planned(
            analyzed=normalise_logical(analyzed, tables),
            analyzed_text=jvm.text(frame._jdf.queryExecution().analyzed()),
            optimized=normalise_logical(optimized, tables),
            output=tuple((f.name, f.dataType.simpleString(), f.nullable) for f in frame.schema.fields),
            planning=planning(frame._jdf.queryExecution(), executed, jvm),
            environment=self._environment(session),
            rulepack=self._rulepack(session),
            explains=() if before is None else self._explains(executed, before),
        )

    def _explains(self, executed: JavaObject, before: str) -> tuple[tuple[str, str], ...]:
        others = ((mode, self._capture.jvm.explained(executed, mode)) for mode in ("cost", "codegen"))
        return ((FORMATTED, before), (FORMATTED_FINAL, self.explained(executed)), *others)

    def _environment(self, session: SparkSession) -> PlanningEnvironment:
        if session not in self._environments:
            self._environments[session] = planning_environment(session, self._capture.jvm)
        return self._environments[session]

    def _rulepack(self, session: SparkSession) -> Rulepack:
        if session not in self._rulepacks:
            self._rulepacks[session] = rulepack(session, self._capture.jvm)
        return self._rulepacks[session]
