"""`Workspace`: one object that owns Spark, the pinned tables, the settings contract and the way queries run."""

from __future__ import annotations

import os
import time
import uuid
from functools import cached_property
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.callables import build_frame
from planopt_assets.engine.capture import Capture
from planopt_assets.engine.compare import difference
from planopt_assets.engine.digest import with_digest
from planopt_assets.engine.execute import Execution, Instruments, execute, planned
from planopt_assets.engine.inspect import Inspector
from planopt_assets.engine.ordering import sort_columns
from planopt_assets.engine.process_cpu import ProcessCpu
from planopt_assets.engine.registry import Registry
from planopt_assets.engine.scans import ScanReader
from planopt_assets.engine.session import FIRST_EXPRESSION_ID, open_session
from planopt_assets.engine.sql_gate import analysis_gate, parse_gate
from planopt_assets.engine.tables import Pins
from planopt_assets.errors import KnobUnknown, PlanoptError, QueryFailed
from planopt_assets.model.location import plain_path
from planopt_assets.model.policy import ORIGINAL, Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import DataFrame, SparkSession

    from planopt_assets.model.bundle import Planned
    from planopt_assets.model.inputs import PinnedTable
    from planopt_assets.model.plan import Plan
    from planopt_assets.model.scan import ScanFacts
    from planopt_assets.model.table_facts import TableFacts
    from planopt_assets.model.workload import CaptureTier, Query, Workload


class Workspace:
    """Nothing happens until it is needed: the session starts with the first query that must be looked at.

    All queries of a run share one JVM; every policy gets an isolated session over the same pinned versions.
    """

    first_expression_id = FIRST_EXPRESSION_ID

    def __init__(self, workload: Workload, session: Callable[[], SparkSession] | None = None) -> None:
        self.workload = workload
        self.pins = Pins()
        self.started_at = time.monotonic()
        self._open_session = session or (lambda: open_session(workload))
        self._sessions: dict[str, SparkSession] = {}
        self._gated: dict[tuple[str, int, str], frozenset[str]] = {}  # -> locations it reads
        self._blocked: dict[str, tuple[str, ...]] = {}  # query -> tables it names that cannot be read
        self._executions = 0
        self._unique = uuid.uuid4().hex[:8]  # Spark sums counters by job group: no two executions may share one

    @cached_property
    def spark(self) -> SparkSession:
        # One budget for all native thread pools: Spark owns the cores while it measures.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        return self._open_session()

    @property
    def started(self) -> bool:
        return "spark" in self.__dict__

    @cached_property
    def registry(self) -> Registry:
        return Registry(self.workload.tables, self.pins, lambda: self.spark)

    @property
    def tables(self) -> tuple[PinnedTable, ...]:
        """Every registered table at the version this run reads; asked once, so a commit meanwhile changes nothing."""
        return self.registry.pinned

    def facts(self, table: PinnedTable) -> TableFacts:
        """What a table says about itself at the pinned version."""
        return self.pins.facts(table.name, table.location)

    @cached_property
    def capture(self) -> Capture:
        return Capture(self.spark, {plain_path(t.location): t.name for t in self.tables})

    @cached_property
    def instruments(self) -> Instruments:
        scans = ScanReader(self.capture.jvm, self.capture.tables)
        return Instruments(self.capture, scans, Inspector(self.capture), ProcessCpu(self.spark))

    @property
    def cores(self) -> int:
        return int(self.spark.sparkContext.defaultParallelism)

    def isolated(self, policy: Policy) -> SparkSession:
        """A session of its own with the policy set and the pinned tables as lazy views; nothing leaks back."""
        if policy.id not in self._sessions:
            assert policy == Policy(policy.settings), "no rule proposes hints or layouts yet"
            session = self.spark.newSession()
            for name, value in policy.settings:
                if not session.conf.isModifiable(name):
                    raise KnobUnknown(
                        f"{name!r} is no session setting of this Spark", where=policy.id, fix="correct the knob's name"
                    )
                session.conf.set(name, value)
            for table in self.registry.readable:
                reader = session.read.format("delta").option("versionAsOf", table.version)
                reader.load(table.location).createOrReplaceTempView(table.name)
            self._sessions[policy.id] = session
        return self._sessions[policy.id]

    def frame(self, query: Query, binding: int, policy: Policy = ORIGINAL) -> DataFrame:
        """The query as a DataFrame, built anew each time, and through the gate before anything of it runs.

        Built anew because `rand()` draws its seed at analysis: a kept frame would hide that a result varies.
        """
        session = self.isolated(policy)
        parameters = dict(query.bindings[binding])
        key = (query.id, binding, policy.id)
        try:
            if query.sql is None:
                frame = build_frame(self.workload, query, session, parameters)
                self._gated[key] = analysis_gate(
                    session, query.id, frame, self.registry.relations, self.workload.allow_python
                )
                return frame
            if key not in self._gated:
                parse_gate(session, query.id, query.sql, self.registry.relations)
            frame = session.sql(query.sql, args=parameters or None)
            if key not in self._gated:
                self._gated[key] = analysis_gate(
                    session, query.id, frame, self.registry.relations, self.workload.allow_python
                )
            return frame
        except PlanoptError:
            raise
        except Exception as error:  # Spark's analyzer and the user's callable: the boundary where it becomes ours
            if blamed := self.registry.blamed(error):
                self._blocked[query.id] = blamed
                raise self.registry.unusable[blamed[0]] from error
            line = str(error).strip().splitlines()[0][:400]
            raise QueryFailed(
                line, where=f"query {query.id}", fix="correct the query or the tables it names"
            ) from error

    def tables_read(self, query: Query) -> tuple[PinnedTable, ...]:
        """The registered tables a query names, as the gate saw them; all of them where it never got that far."""
        if query.id in self._blocked:
            return tuple(t for t in self.tables if t.name in self._blocked[query.id])
        gated = [reads for (query_id, _, _), reads in self._gated.items() if query_id == query.id]
        paths = {plain_path(p) for reads in gated for p in reads}
        return tuple(t for t in self.tables if plain_path(t.location) in paths) if gated else self.tables

    def plan(self, query: Query, binding: int, policy: Policy) -> tuple[Plan, dict[str, list[int]]]:
        """The plan of a query under a policy, without running it."""
        return planned(self.frame(query, binding, policy), self.capture)

    def execute(
        self,
        query: Query,
        binding: int,
        policy: Policy,
        *,
        timeout_s: float,
        tier: CaptureTier | None = None,
        digest: bool = True,
    ) -> Execution:
        """Run a query once under a policy; with a `tier`, everything planopt keeps of a plan is captured as well."""
        self._executions += 1
        return execute(
            self.isolated(policy),
            lambda: self.frame(query, binding, policy),
            tag=f"{query.id}#{binding}/{policy.id}/{self._unique}-{self._executions}",
            timeout_s=timeout_s,
            tier=tier,
            instruments=self.instruments,
            digest=digest,
        )

    def replanned(self, query: Query, binding: int) -> tuple[Planned, Plan, tuple[ScanFacts, ...]]:
        """The query planned once more, with all that is kept of planning; nothing is executed."""
        frame = self.frame(query, binding)
        execution: Any = with_digest(frame)._jdf.queryExecution()
        seen = self.capture.read(execution.executedPlan(), "initial")
        optimized = self.capture.jvm.tree(execution.optimizedPlan())
        scans = self.instruments.scans.planned(execution.executedPlan(), seen.tree, optimized).facts
        return (
            self.instruments.inspector.planned(self.isolated(ORIGINAL), frame, execution, optimized),
            seen.plan,
            scans,
        )

    @property
    def broadcast_threshold(self) -> int:
        """Bytes up to which the planner broadcasts a join input; 0 or less: never."""
        conf: Any = self.spark._jsparkSession.sessionState().conf()
        return int(conf.autoBroadcastJoinThreshold())

    def promises_order(self, query: Query, binding: int) -> bool:
        return sort_columns(self.frame(query, binding)) is not None

    def difference(self, query: Query, binding: int, expected: Policy, actual: Policy) -> str:
        """What differs, row by row and in the promised order, between a query's results under two policies."""
        self._executions += 1
        return difference(
            self.spark,
            lambda: self.frame(query, binding, expected),
            lambda: self.frame(query, binding, actual),
            f"{self.workload.store}/_scratch/{query.id}-{self._unique}-{self._executions}",
        )

    def effective_settings(self, names: Iterable[str]) -> dict[str, str]:
        """What the catalogue's knobs are set to in this Spark; a knob it does not know is an error, not a no-op."""
        values = {}
        for name in names:
            if not self.spark.conf.isModifiable(name):
                raise KnobUnknown(
                    f"{name!r} is no session setting of this Spark",
                    where="knob catalogue",
                    fix="correct the knob's name",
                )
            values[name] = str(self.spark.conf.get(name))
        return {**values, "cores": str(self.cores)}

    def close(self) -> None:
        """Forget the isolated sessions; the Spark session itself belongs to the process."""
        self._sessions.clear()
        self._gated.clear()
