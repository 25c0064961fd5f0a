"""Reads every operator of a physical plan: metrics, estimates, shuffle sizes, hints that reached it."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from planopt_assets.engine.jvm.questions import NOTHING, OPTION, PLAN, Questions
from planopt_assets.model.plan import Estimate, Operator

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

_METRIC = re.compile(r"SQLMetric\(id: (\d+), name: Some\((.*?)\), value: (-?\d+)\)")
_MOST = 2**63 - 1  # without statistics the planner multiplies the sizes of joined tables, beyond 64 bits

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical.LogicalPlan"
_STATISTICS = "org.apache.spark.sql.catalyst.plans.logical.Statistics"
_LOGICAL_JOIN = "org.apache.spark.sql.catalyst.plans.logical.Join"
_SCHEMA = "org.apache.spark.sql.types.StructType"
_SHUFFLE_STAGE = "org.apache.spark.sql.execution.adaptive.ShuffleQueryStageExec"
_MAP_STATISTICS = "org.apache.spark.MapOutputStatistics"


class Walked(NamedTuple):
    """Metric values by accumulator id, and every operator with the planner's estimate."""

    metrics: dict[int, int]
    operators: list[Operator]


class PlanWalk:
    """All operators of a plan, top down, including query stages and sub-queries."""

    def __init__(self, questions: Questions) -> None:
        self._ask = questions

    def metric_values(self, plan: JavaObject) -> dict[int, int]:
        """The value of every metric in the plan, by its accumulator id."""
        return _values(answer for (answer,) in self._ask.answers(plan, self._metrics_alone))

    def walk(self, plan: JavaObject) -> Walked:
        """The same, with the planner's estimate for each operator and the partition sizes of its shuffle."""
        operators, shuffled = [], NOTHING
        answers = list(self._ask.answers(plan, self._metrics_and_estimates))
        for metrics, rows, size, runtime, width, wrote in answers:
            operators.append(
                Operator(
                    metric_ids=tuple(int(m[0]) for m in _METRIC.findall(metrics)),
                    estimate=_estimate(rows, size, runtime),
                    row_bytes=int(width),
                    partition_bytes=_spread(shuffled),
                )
            )
            shuffled = wrote  # a stage comes right before the exchange it runs
        return Walked(_values(answer[0] for answer in answers), operators)

    def hinted_joins(self, plan: JavaObject) -> list[tuple[str, str]]:
        """Every join operator whose logical join has a hint, with that hint: `rightHint=(strategy=broadcast)`."""
        found = self._ask.answers(plan, self._hints)
        return [(hint, text) for hint, text in found if hint not in (NOTHING, "") and "Join" in text.split(" ")[0]]

    @cached_property
    def _metrics_alone(self) -> JavaObject:
        return self._ask.together(self._metrics)

    @cached_property
    def _metrics_and_estimates(self) -> JavaObject:
        ask = self._ask
        width = ask.text(ask.get(PLAN, "schema"), ask.get(_SCHEMA, "defaultSize"))
        estimates = (self._estimate(getter) for getter in ("rowCount", "sizeInBytes", "isRuntime"))
        return ask.together(self._metrics, *estimates, width, self._partition_bytes)

    @cached_property
    def _hints(self) -> JavaObject:
        ask = self._ask
        logical = (ask.get(PLAN, "logicalLink"), ask.get(OPTION, "get"))
        hint = ask.text(*logical, ask.get(_LOGICAL_JOIN, "hint"))
        of_join = ask.when(self._linked, ask.when(ask.chain(*logical, ask.is_a(_LOGICAL_JOIN)), hint))
        return ask.together(of_join, ask.given(PLAN, "simpleString", ask.jvm.java.lang.Integer.TYPE, 25))

    @cached_property
    def _metrics(self) -> Any:
        return self._ask.text(self._ask.get(PLAN, "metrics"))

    @cached_property
    def _linked(self) -> Any:
        return self._ask.chain(self._ask.get(PLAN, "logicalLink"), self._ask.get(OPTION, "isDefined"))

    def _estimate(self, getter: str) -> Any:
        """One statistic of the logical operator behind a physical one."""
        ask = self._ask
        statistics = (ask.get(PLAN, "logicalLink"), ask.get(OPTION, "get"), ask.get(_LOGICAL, "stats"))
        return ask.when(self._linked, ask.text(*statistics, ask.get(_STATISTICS, getter)))

    @property
    def _partition_bytes(self) -> Any:
        ask = self._ask
        statistics = ask.get(_SHUFFLE_STAGE, "mapStats")
        sizes = ask.chain(
            statistics,
            ask.get(OPTION, "get"),
            ask.get(_MAP_STATISTICS, "bytesByPartitionId"),
            ask.static("java.util.Arrays", "toString", ask.jvm.cls("[J")),
        )
        finished = ask.when(ask.chain(statistics, ask.get(OPTION, "isDefined")), sizes)
        return ask.when(ask.is_a(_SHUFFLE_STAGE), finished)


def _values(answers: Any) -> dict[int, int]:
    return {int(m[0]): int(m[2]) for answer in answers for m in _METRIC.findall(answer)}


def _estimate(rows: str, size: str, runtime: str) -> Estimate:
    """
    >>> _estimate("None", "1024", "false")
    Estimate(rows=None, bytes=1024, source='plan', at_runtime=False)
    >>> _estimate("-", "-", "-").source
    'none'
    """
    if size == NOTHING:
        return Estimate()
    known = int(rows.removeprefix("Some(").removesuffix(")")) if rows.startswith("Some(") else None
    return Estimate(known if known is None else min(known, _MOST), min(int(size), _MOST), "plan", runtime == "true")


def _spread(wrote: str) -> tuple[int, int, int] | None:
    """Smallest, median and largest partition.

    >>> _spread("[5, 1, 9]"), _spread("-")
    ((1, 5, 9), None)
    """
    sizes = sorted(int(size) for size in wrote.strip("[]").split(",")) if wrote not in (NOTHING, "[]") else []
    return (sizes[0], sizes[len(sizes) // 2], sizes[-1]) if sizes else None
