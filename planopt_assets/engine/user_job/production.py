"""What Spark itself recorded of a user's actions: their executions are found by the marker of the session they ran in.

A listener would not see them all, and job tags belong to a thread. Spark stores the settings of the session with every
execution, for its own UI: the marker is one of them, whoever runs the action, when, and in which thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from planopt_assets.engine.capture.capture import Capture
from planopt_assets.engine.execution.counting import Elapsed, count
from planopt_assets.engine.jvm.bridge import each
from planopt_assets.engine.sessions.executors import Executors
from planopt_assets.engine.user_job.user_session import MARKER
from planopt_assets.model.counters import Counters
from planopt_assets.model.execution import Action, Execution
from planopt_assets.model.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PAGE = 20
_PATIENCE_MS = 2_000
_LOOKS, _BETWEEN_LOOKS_S = 10, 0.05
_WRITES = ("Execute ", "AppendData", "Overwrite", "CreateTableAsSelect", "ReplaceTableAsSelect", "WriteToDataSource")
_DELTAS_OWN = ("Delta: ", "$anonfun$recordDeltaOperation")


@dataclass(frozen=True, slots=True)
class RanAs:
    """Whose executions are asked for, and how they are to be named."""

    query_id: str
    policy_id: str  # what really held
    binding: int | None
    note: str  # why that is not the policy in force; empty where it is
    control: bool = False  # it ran as original to be compared with


class Executions:
    """Spark's record of SQL executions, as far as it still has them."""

    def __init__(self, session: SparkSession) -> None:
        self._capture = Capture(session, {})
        self._bus: Any = session.sparkContext._jsc.sc().listenerBus()
        shared: Any = session._jsparkSession.sharedState()
        self._store: Any = shared.statusStore()
        self._session = session

    @property
    def cores(self) -> int:
        """As they are now: when the job began, the executors of a cluster were not there yet."""
        return Executors(self._session).cores

    def newest(self) -> int:
        """The number of the last execution so far."""
        return next((int(e.executionId()) for e in self._backwards()), -1)

    def runs(self, marker: str, after: int, frame: DataFrame | None, ran_as: RanAs) -> list[Execution]:
        """Every finished action since `after` in the session with this marker, oldest first."""
        self._bus.waitUntilEmpty(_PATIENCE_MS)
        trees = self._trees(marker, after)
        for _ in range(_LOOKS):
            if all(_ended(execution) for executions in trees for execution in executions):
                break
            time.sleep(_BETWEEN_LOOKS_S)  # Spark writes down the end of an execution a little later than it is known
            trees = self._trees(marker, after)
        own = _OwnPlan(self._capture, frame) if frame is not None else None
        found = [self._run(executions, own) for executions in trees if all(_ended(e) for e in executions)]
        return [
            Execution(
                f"exe-{marker}-{ran_as.query_id}-{number}",
                ran_as.query_id,
                "production",
                ran_as.policy_id,
                ran_as.binding,
                counters,
                action=action,
                status="failed" if error else "ok",
                note=error or ran_as.note or None,
                cores=self.cores,
                control=ran_as.control,
            )
            for number, (action, error, counters) in enumerate(run for run in found if run is not None)
        ]

    def _trees(self, marker: str, after: int) -> list[list[Any]]:
        """The executions of each action, newest first, so the action itself comes last; oldest action first."""
        trees: dict[int, list[Any]] = {}
        for execution in self._backwards():
            if int(execution.executionId()) <= after:
                break
            trees.setdefault(int(execution.rootExecutionId()), []).append(execution)
        whole = [tree for root, tree in sorted(trees.items()) if int(tree[-1].executionId()) == root]
        return [tree for tree in whole if _marker(tree[-1]) == marker]

    def _backwards(self) -> Iterator[Any]:
        end = int(self._store.executionsCount())
        while end > 0:
            start = max(end - _PAGE, 0)
            page = self._store.executionsList(start, end - start)
            yield from (page.apply(i) for i in reversed(range(page.size())))
            end = start

    def _run(self, executions: Sequence[Any], own: _OwnPlan | None) -> tuple[Action, str, Counters] | None:
        top = executions[-1]
        deltas = [str(e.description()).startswith(_DELTAS_OWN) for e in executions]
        if deltas[-1]:
            return None  # Delta looked at a table; nothing of the user's ran
        planning_jobs = [job for e, is_delta in zip(executions, deltas, strict=True) if is_delta for job in _jobs(e)]
        jobs = [job for e, is_delta in zip(executions, deltas, strict=True) if not is_delta for job in _jobs(e)]
        plan = own.ran_in(top) if own is not None else None
        error = str(top.errorMessage().get()) if top.errorMessage().isDefined() else ""
        if not jobs and plan is None:
            return None  # a command, such as naming a view, or a text that could not be analysed
        total_ms = int(top.completionTime().get().getTime()) - int(top.submissionTime())
        planning_ms = min(own.planning_ms, total_ms) if own is not None and plan is not None else None
        counters = count(
            [Elapsed(None if planning_ms is None else planning_ms * 1_000_000, None)],
            Elapsed((total_ms - (planning_ms or 0)) * 1_000_000, None),
            self._capture.stages_of(jobs),
            plan,
            None,
            planning_jobs=len(planning_jobs),
            jobs=len(jobs),
            result_rows=None,  # an action does not say how many rows it returned
            cpu_has_executors=False,
        )
        return "frame" if plan is not None else self._action(top), error[:400], counters

    def _action(self, execution: Any) -> Literal["write", "other"]:
        nodes = self._store.planGraph(execution.executionId()).allNodes()
        names = [str(nodes.apply(i).name()) for i in range(min(2, nodes.size()))]
        return "write" if any(name.startswith(_WRITES) for name in names) else "other"


class _OwnPlan:
    """The plan a frame itself holds; it is that of an execution where both have the same query id."""

    def __init__(self, capture: Capture, frame: DataFrame) -> None:
        self._capture = capture
        self._execution: Any = frame._jdf.queryExecution()
        self._taken = False

    def ran_in(self, execution: Any) -> Plan | None:
        """The final plan, the first time it ran; a second time Spark reads the shuffles of the first one again."""
        if self._taken or str(execution.queryId()) != str(self._execution.queryId()):
            return None
        self._taken = True
        return self._capture.plan(self._execution.executedPlan(), "final")

    @property
    def planning_ms(self) -> int:
        phases = self._execution.tracker().phases()
        found = [phases.get(name) for name in ("optimization", "planning")]
        return sum(int(phase.get().durationMs()) for phase in found if phase.isDefined())


def _ended(execution: Any) -> bool:
    return bool(execution.completionTime().isDefined())


def _marker(execution: Any) -> str | None:
    found = execution.modifiedConfigs().get(MARKER)
    return str(found.get()) if found.isDefined() else None


def _jobs(execution: Any) -> list[int]:
    return [int(job) for job in each(execution.jobs().keySet().toSeq())]
