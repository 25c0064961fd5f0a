"""Asks every operator of a physical plan the same question in one call to the JVM.

py4j costs about 0.3 ms a call, and a large plan has a thousand operators. So the question (a chain of getters) is put
together as a method handle, made into a Scala function, and Spark itself maps it over the plan.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.jvm import each
from planopt_assets.model.plan import Estimate, Operator

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

    from planopt_assets.engine.jvm import Jvm

_NOTHING = "-"
_METRIC = re.compile(r"SQLMetric\(id: (\d+), name: Some\((.*?)\), value: (-?\d+)\)")
_MOST = 2**63 - 1  # without statistics the planner multiplies the sizes of joined tables, beyond any number stored

_PLAN = "org.apache.spark.sql.execution.SparkPlan"
_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical.LogicalPlan"
_STATISTICS = "org.apache.spark.sql.catalyst.plans.logical.Statistics"
_LOGICAL_JOIN = "org.apache.spark.sql.catalyst.plans.logical.Join"
_JOIN_HINT = "org.apache.spark.sql.catalyst.plans.logical.JoinHint"
_SCHEMA = "org.apache.spark.sql.types.StructType"
_SHUFFLE_STAGE = "org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec"
_MAP_STATISTICS = "org.apache.spark.MapOutputStatistics"
_OPTION, _OBJECT, _STRING = "scala.Option", "java.lang.Object", "java.lang.String"


class PlanWalk:
    """All operators of a plan, top down, with query stages and sub-queries entered."""

    def __init__(self, jvm: Jvm) -> None:
        self._jvm = jvm
        self._helper = jvm.scala_object("org.apache.spark.sql.execution.ExplainUtils")
        self._handles = jvm.java.lang.invoke.MethodHandles
        self._lookup = self._handles.publicLookup()

    def metric_values(self, plan: JavaObject) -> dict[int, int]:
        """The value of every metric in the plan, by its accumulator id."""
        (answers,) = self._ask(self._roots(plan), self._metrics)
        return {int(m[0]): int(m[2]) for answer in answers for m in _METRIC.findall(answer)}

    def operators(self, plan: JavaObject) -> list[Operator]:
        """What the planner reckoned for each operator that has metrics, and how evenly its shuffle fell."""
        roots = self._roots(plan)
        questions = (self._metrics, self._estimated_rows, self._estimated_bytes, self._is_runtime, self._row_width)
        *answers, wrote_by_stage = self._ask(roots, *questions, self._partition_bytes)
        # A stage comes right before the exchange it runs.
        partitions = [_NOTHING, *wrote_by_stage]
        return [
            Operator(
                metric_ids=tuple(int(m[0]) for m in _METRIC.findall(metrics)),
                estimate=_estimate(rows, size, runtime),
                row_bytes=int(width),
                partition_bytes=_spread(wrote),
            )
            for metrics, rows, size, runtime, width, wrote in zip(*answers, partitions, strict=False)
        ]

    def hinted_joins(self, plan: JavaObject) -> list[tuple[str, str]]:
        """Every join operator whose logical join has a hint: `rightHint=(strategy=broadcast)`, and the operator."""
        hints, operators = self._ask(self._roots(plan), self._join_hint, self._operator)
        found = zip(hints, operators, strict=True)
        return [(hint, text) for hint, text in found if hint not in (_NOTHING, "") and "Join" in text.split(" ")[0]]

    def _roots(self, plan: JavaObject) -> list[JavaObject]:
        return [plan, *each(self._helper.subqueriesAll(plan))]

    def _ask(self, roots: list[JavaObject], *questions: Any) -> list[list[str]]:
        """The answers to each question, operator by operator; all of them leave the JVM together."""
        held = self._jvm.java.util.ArrayList()
        for question in questions:
            for root in roots:
                held.add(self._helper.mapPlans(root, question))
        read: list[list[str]] = self._jvm.to_python(held)
        parts = len(roots)
        return [
            [answer for part in read[i * parts : (i + 1) * parts] for answer in part] for i in range(len(questions))
        ]

    @cached_property
    def _metrics(self) -> Any:
        return self._function(self._get(_PLAN, "metrics", "scala.collection.immutable.Map"))

    @cached_property
    def _estimated_bytes(self) -> Any:
        return self._of_estimate(self._get(_STATISTICS, "sizeInBytes", "scala.math.BigInt"))

    @cached_property
    def _estimated_rows(self) -> Any:
        return self._of_estimate(self._get(_STATISTICS, "rowCount", _OPTION))

    @cached_property
    def _is_runtime(self) -> Any:
        return self._of_estimate(self._get(_STATISTICS, "isRuntime", self._jvm.java.lang.Boolean.TYPE))

    @cached_property
    def _row_width(self) -> Any:
        schema = self._get(_PLAN, "schema", _SCHEMA)
        return self._function(self._chain(schema, self._get(_SCHEMA, "defaultSize", self._jvm.java.lang.Integer.TYPE)))

    @cached_property
    def _operator(self) -> Any:
        integer = self._jvm.java.lang.Integer.TYPE
        shown = self._lookup.findVirtual(
            self._jvm.cls(_PLAN), "simpleString", self._type(self._jvm.cls(_STRING), integer)
        )
        return self._function(self._handles.insertArguments(shown, 1, self._jvm.array(self._jvm.java.lang.Object, 25)))

    @cached_property
    def _join_hint(self) -> Any:
        link = self._get(_PLAN, "logicalLink", _OPTION)
        linked = self._chain(link, self._get(_OPTION, "isDefined", self._jvm.java.lang.Boolean.TYPE))
        logical = self._chain(link, self._get(_OPTION, "get", _OBJECT))
        is_join = self._chain(logical, self._is_a(_LOGICAL_JOIN))
        hint = self._chain(logical, self._get(_LOGICAL_JOIN, "hint", _JOIN_HINT))
        return self._function(self._if(linked, self._if(is_join, self._as_text(hint))))

    @cached_property
    def _partition_bytes(self) -> Any:
        longs = self._jvm.cls("[J")
        statistics = self._chain(
            self._get(_SHUFFLE_STAGE, "mapStats", _OPTION),
            self._get(_OPTION, "get", _OBJECT),
            self._get(_MAP_STATISTICS, "bytesByPartitionId", longs),
            self._lookup.findStatic(
                self._jvm.cls("java.util.Arrays"), "toString", self._type(self._jvm.cls(_STRING), longs)
            ),
        )
        is_stage = self._is_a(_SHUFFLE_STAGE)
        finished = self._chain(
            self._get(_SHUFFLE_STAGE, "mapStats", _OPTION),
            self._get(_OPTION, "isDefined", self._jvm.java.lang.Boolean.TYPE),
        )
        asked = self._if(self._on_plan(finished), self._on_plan(statistics))
        return self._function(self._if(self._on_plan(is_stage), asked))

    def _of_estimate(self, getter: Any) -> Any:
        """A getter of the statistics of the logical operator a physical one stands for."""
        link = self._get(_PLAN, "logicalLink", _OPTION)
        linked = self._chain(link, self._get(_OPTION, "isDefined", self._jvm.java.lang.Boolean.TYPE))
        estimate = self._chain(
            link, self._get(_OPTION, "get", _OBJECT), self._get(_LOGICAL, "stats", _STATISTICS), getter
        )
        return self._function(self._if(linked, self._as_text(estimate)))

    def _function(self, handle: Any) -> Any:
        """A Scala function of one argument; what it returns is made a text inside the JVM."""
        any_to_any = self._type(self._jvm.cls(_OBJECT), self._jvm.cls(_OBJECT))
        return self._jvm.java.lang.invoke.MethodHandleProxies.asInterfaceInstance(
            self._jvm.cls("scala.Function1"), self._as_text(handle).asType(any_to_any)
        )

    def _if(self, test: Any, then: Any) -> Any:
        """`then` where `test` holds, else `-`."""
        nothing = self._handles.constant(self._jvm.cls(_STRING), _NOTHING)
        plan = self._jvm.array(self._jvm.java.lang.Class, self._jvm.cls(_PLAN))
        return self._handles.guardWithTest(test, then, self._handles.dropArguments(nothing, 0, plan))

    def _as_text(self, handle: Any) -> Any:
        text = self._lookup.findStatic(
            self._jvm.cls(_STRING), "valueOf", self._type(self._jvm.cls(_STRING), self._jvm.cls(_OBJECT))
        )
        return self._chain(handle, text)

    def _is_a(self, name: str) -> Any:
        takes = self._type(self._jvm.java.lang.Boolean.TYPE, self._jvm.cls(_OBJECT))
        return self._lookup.bind(self._jvm.cls(name), "isInstance", takes)

    def _on_plan(self, handle: Any) -> Any:
        """The same handle, taking any operator: a cast that a test before it must justify."""
        return handle.asType(self._type(handle.type().returnType(), self._jvm.cls(_PLAN)))

    def _get(self, owner: str, method: str, returns: Any) -> Any:
        kind = self._jvm.cls(returns) if isinstance(returns, str) else returns
        return self._lookup.findVirtual(self._jvm.cls(owner), method, self._type(kind))

    def _chain(self, first: Any, *rest: Any) -> Any:
        for then in rest:
            taken = then.asType(then.type().changeParameterType(0, first.type().returnType()))
            first = self._handles.filterReturnValue(first, taken)
        return first

    def _type(self, returns: Any, *takes: Any) -> Any:
        kind = self._jvm.java.lang.invoke.MethodType
        return (
            kind.methodType(returns, self._jvm.array(self._jvm.java.lang.Class, *takes))
            if takes
            else kind.methodType(returns)
        )


def _estimate(rows: str, size: str, runtime: str) -> Estimate:
    """
    >>> _estimate("None", "1024", "false")
    Estimate(rows=None, bytes=1024, source='plan', at_runtime=False)
    >>> _estimate("-", "-", "-").source
    'none'
    """
    if size == _NOTHING:
        return Estimate()
    known = int(rows.removeprefix("Some(").removesuffix(")")) if rows.startswith("Some(") else None
    return Estimate(known if known is None else min(known, _MOST), min(int(size), _MOST), "plan", runtime == "true")


def _spread(wrote: str) -> tuple[int, int, int] | None:
    """Smallest, median and largest partition.

    >>> _spread("[5, 1, 9]"), _spread("-")
    ((1, 5, 9), None)
    """
    sizes = sorted(int(size) for size in wrote.strip("[]").split(",")) if wrote not in (_NOTHING, "[]") else []
    return (sizes[0], sizes[len(sizes) // 2], sizes[-1]) if sizes else None
