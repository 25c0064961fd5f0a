"""`Workspace`: one object that owns Spark, the pinned tables, the settings contract and the way queries run."""

from __future__ import annotations

import time
import uuid
from contextlib import ExitStack, contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from planopt_assets.engine.capture.capture import Capture
from planopt_assets.engine.capture.inspector import Inspector
from planopt_assets.engine.capture.scans import ScanReader
from planopt_assets.engine.delta.clones import Clones
from planopt_assets.engine.delta.pins import Pins
from planopt_assets.engine.delta.registry import Registry
from planopt_assets.engine.execution.blame import blamed
from planopt_assets.engine.execution.bounded import Step, bounded
from planopt_assets.engine.execution.disturbance import newest_versions
from planopt_assets.engine.execution.execute import Instruments, Measured, execute, planned
from planopt_assets.engine.execution.executor_python import ExecutorPython
from planopt_assets.engine.execution.program_cpu import ProgramCpu
from planopt_assets.engine.frames.query_frames import QueryFrames
from planopt_assets.engine.jvm.started_with import started_memory
from planopt_assets.engine.results.compare import difference
from planopt_assets.engine.results.digest import with_digest
from planopt_assets.engine.results.ordering import sort_columns
from planopt_assets.engine.results.scratch import scratch_folder
from planopt_assets.engine.sessions.executors import Executors
from planopt_assets.engine.sessions.knobs import KnobReader, check_settable
from planopt_assets.engine.sessions.lifetime import discard, is_gone
from planopt_assets.engine.sessions.session import FIRST_EXPRESSION_ID, open_session
from planopt_assets.engine.sessions.thread_budget import limit_native_threads
from planopt_assets.engine.sessions.warm import is_warm, ran
from planopt_assets.errors import QueryHangs
from planopt_assets.model.arm import Arm, Session, Tables
from planopt_assets.model.location import is_folder, plain_path
from planopt_assets.model.observation import EXECUTORS
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.promote.veto import check_settings
from planopt_assets.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from planopt_assets.model.bundle import Planned
    from planopt_assets.model.inputs import PinnedTable
    from planopt_assets.model.plan import Plan
    from planopt_assets.model.scan import ScanFacts, TableScanInfo
    from planopt_assets.model.table_facts import TableFacts
    from planopt_assets.model.workload import CaptureTier, Query, Workload


class Replanned(NamedTuple):
    """A query planned without running it: what Spark told, the plan, its scans, and what their tables offer."""

    planned: Planned
    initial: Plan
    scans: tuple[ScanFacts, ...]
    offers: dict[str, TableScanInfo]


class Workspace:
    """Nothing happens until it is needed: the session starts with the first query that must be looked at.

    All queries of a run share one JVM; every set of settings and tables gets an isolated session of its own. A query
    that ends the JVM gets `SessionLost`, and whoever asks next gets a new one; `sessions_lost` counts them.
    """

    first_expression_id = FIRST_EXPRESSION_ID

    def __init__(
        self,
        workload: Workload,
        session: Callable[[], SparkSession] | None = None,
        *,
        started_at: float | None = None,
    ) -> None:
        self.workload = workload
        self.pins = Pins()
        self.started_at = time.monotonic() if started_at is None else started_at  # budgets count from here
        self.sessions_lost = 0
        self._open_session = session or (lambda: open_session(workload))
        self._sessions: dict[Session, SparkSession] = {}
        self._executions = 0
        self._has_run: set[tuple[str, Arm]] = set()  # ids of queries that ran in an arm, every binding
        self._held: ExitStack | None = None
        self._unique = uuid.uuid4().hex[:8]  # Spark sums counters by job group: no two executions may share one

    @cached_property
    def spark(self) -> SparkSession:
        limit_native_threads()
        return self._open_session()

    @property
    def started(self) -> bool:
        return "spark" in self.__dict__

    @cached_property
    def store(self) -> Store:
        """Everything planopt has kept of this workload; reading it starts no Spark."""
        return Store(self.workload.store, self.workload.name, lambda: self.spark)

    @cached_property
    def registry(self) -> Registry:
        return Registry(self.workload.tables, self.pins, lambda: self.spark)

    @cached_property
    def frames(self) -> QueryFrames:
        return QueryFrames(self.workload, self.registry)

    @property
    def tables(self) -> Tables:
        """Every registered table at the version this run reads; asked once, so a commit meanwhile changes nothing."""
        return self.registry.pinned

    def arm(self, policy: Policy) -> Arm:
        """The usual arm of a policy: over the tables this run has pinned."""
        return Arm(policy, self.tables)

    @property
    def baseline(self) -> Arm:
        """Original, over the tables as they are."""
        return self.arm(ORIGINAL)

    def facts(self, table: PinnedTable) -> TableFacts:
        """What a table says about itself at the pinned version."""
        return self.pins.facts(table.name, table.location)

    @cached_property
    def capture(self) -> Capture:
        return Capture(self.spark, self._names)

    @cached_property
    def _names(self) -> dict[str, str]:
        """Location -> registered name, for every arm in use: plans name a clone as they name its table."""
        return {plain_path(t.location): t.name for t in self.tables}

    @cached_property
    def instruments(self) -> Instruments:
        scans = ScanReader(self.capture.jvm, self.capture.tables)
        python = ExecutorPython(self.spark, self.capture.jvm, alone=self.executors.alone)
        return Instruments(self.capture, scans, Inspector(self.capture), ProgramCpu(self.spark), self.executors, python)

    @cached_property
    def knobs(self) -> KnobReader:
        return KnobReader(self.spark)

    @cached_property
    def executors(self) -> Executors:
        """Those that the session started with: an execution with others is no evidence."""
        return Executors(self.spark)

    @property
    def cores(self) -> int:
        return self.executors.cores

    @property
    def executor_count(self) -> int:
        """How many executors are held; in local mode the driver is the only one."""
        return len(self.executors.look().cores)

    def isolated(self, arm: Arm) -> SparkSession:
        """A session of its own with an arm's settings, and with its tables as lazy views; nothing leaks back."""
        if arm.session not in self._sessions:
            self._hold()
            session = self.spark.newSession()
            for name, _ in arm.policy.settings:
                check_settable(session, name, where=arm.policy.id)
            check_settings(arm.policy, self.workload.knobs)
            for name, value in arm.policy.settings:
                session.conf.set(name, value)
            for table in self.registry.readable(arm):
                reader = session.read.format("delta").option("versionAsOf", table.version)
                reader.load(table.location).createOrReplaceTempView(table.name)
                self._names.setdefault(plain_path(table.location), table.name)
            self._sessions[arm.session] = session
        return self._sessions[arm.session]

    def _hold(self) -> None:
        """Say which versions this run reads, until it ends: `planopt maintain --vacuum` leaves their files."""
        if self._held is None and is_folder(self.workload.store):
            Clones(self.workload.store).sweep()  # what a killed run left behind
            self._held = ExitStack()
            self._held.enter_context(Clones(self.workload.store).holding(self.tables, f"run-{self._unique}"))

    def frame(self, query: Query, binding: int, arm: Arm) -> DataFrame:
        """The query as a DataFrame in an arm, built anew each time, and through the gate before it runs."""
        return self.frames.frame(self.isolated(arm), query, binding, arm)

    def tables_read(self, query: Query, arm: Arm) -> Tables:
        """The tables of an arm that a query names, as the gate saw them; all of them where it never got that far."""
        return self.frames.tables_read(query, arm)

    def plan(self, query: Query, binding: int, arm: Arm) -> tuple[Plan, dict[str, list[int]]]:
        """The plan of a query in an arm, without running it; planning that hangs is given up as a candidate is."""
        with self.serving(query, arm):
            return planned(
                self.isolated(arm),
                lambda: self.frame(query, binding, arm),
                tag=f"plan/{self._tag(query, binding, arm)}",
                timeout_s=self.workload.budgets.per_candidate,
                capture=self.capture,
            )

    def hinted_joins(self, query: Query, binding: int, arm: Arm) -> list[tuple[str, str]]:
        """Every join of the plan that a hint reached: the hint in Spark's words, and the operator it became."""
        with self.serving(query, arm):
            frame: Any = self.frame(query, binding, arm)
            return self.capture.hinted_joins(frame._jdf.queryExecution().executedPlan())

    def execute(
        self,
        query: Query,
        binding: int,
        arm: Arm,
        *,
        timeout_s: float,
        tier: CaptureTier | None = None,
        digest: bool = True,
        in_order: bool = False,
        cpu_limit_s: float | None = None,
    ) -> Measured:
        """Run a query once in an arm; with a `tier`, everything planopt keeps of a plan is captured as well.

        Past `cpu_limit_s` seconds of CPU it is stopped (`QueryOutdone`).
        """
        with self.serving(query, arm):
            done = execute(
                self.isolated(arm),
                lambda: self.frame(query, binding, arm),
                tag=self._tag(query, binding, arm),
                timeout_s=timeout_s,
                tier=tier,
                instruments=self.instruments,
                digest=digest,
                in_order=in_order,
                cpu_limit_s=cpu_limit_s,
            )
        if binding == len(query.bindings) - 1:  # bindings run one after the other
            self._has_run.add((query.id, arm))
            ran(self.spark, query)
        return done

    def has_run(self, query: Query, arm: Arm) -> bool:
        """Whether this session has executed the query in an arm, so that neither it nor the JVM is cold."""
        return (query.id, arm) in self._has_run

    def is_warm(self, query: Query) -> bool:
        """Whether this JVM has executed the query in any arm, for any workspace: only its data may be cold."""
        return is_warm(self.spark, query)

    @contextmanager
    def serving(self, query: Query, arm: Arm | None = None) -> Iterator[None]:
        """While Spark works for a query, in an arm or for all of it: it gets the blame if that ends the session."""
        try:
            with blamed(query.id, lambda: self.spark if self.started else None, self._replace):
                yield
        except QueryHangs:
            if arm is not None:  # the thread left behind still has its session: the next one who asks gets another
                self._sessions.pop(arm.session, None)
            raise

    def revive(self) -> None:
        """Start anew with the next call where the JVM ended while nothing was asked of it."""
        if self.started and is_gone(self.spark):
            self._replace()

    def _replace(self) -> None:
        """End the JVM, and forget all that belongs to it; pinned versions and what the gate saw stay."""
        discard(self.spark)
        for name in ("spark", "executors", "capture", "instruments", "knobs"):
            self.__dict__.pop(name, None)
        self._sessions.clear()
        self._has_run.clear()
        self.frames.forget_session()
        self.sessions_lost += 1

    def _tag(self, query: Query, binding: int, arm: Arm) -> str:
        self._executions += 1
        return f"{query.id}#{binding}/{arm.policy.id}/{self._unique}-{self._executions}"

    def replanned(self, query: Query, binding: int, arm: Arm) -> Replanned:
        """The query planned once more, with all that is kept of planning; nothing is executed."""
        with self.serving(query, arm):
            return self._replanned(query, binding, arm)

    def _replanned(self, query: Query, binding: int, arm: Arm) -> Replanned:
        frame = self.frame(query, binding, arm)
        execution: Any = with_digest(frame)._jdf.queryExecution()
        inspector = self.instruments.inspector
        explain = partial(inspector.explained, execution)
        seen = self.capture.read(execution.executedPlan(), "initial", explain=explain)
        optimized = self.capture.jvm.tree(execution.optimizedPlan())
        asked = self.capture.scans(execution.executedPlan())
        scans = self.instruments.scans.planned(execution.executedPlan(), asked, seen.tree, optimized)
        told = inspector.planned(self.isolated(arm), frame, execution, inspector.analyzed(frame), optimized)
        return Replanned(told, seen.plan, scans.facts, scans.offers)

    @property
    def broadcast_threshold(self) -> int:
        """Bytes up to which the planner broadcasts a join input; 0 or less: never."""
        conf: Any = self.spark._jsparkSession.sessionState().conf()
        return int(conf.autoBroadcastJoinThreshold())

    def promises_order(self, query: Query, binding: int, arm: Arm) -> bool:
        with self.serving(query, arm):
            return sort_columns(self.frame(query, binding, arm)) is not None

    def difference(self, query: Query, binding: int, expected: Arm, actual: Arm, *, timeout_s: float) -> str:
        """What differs, row by row and in the promised order, between a query's results in two arms."""
        tag = f"compare/{self._tag(query, binding, actual)}"
        kept = f"{query.id}-{self._unique}-{self._executions}"
        scratch = scratch_folder(self.spark, self.workload.store, kept)

        def compared(step: Step) -> str:
            step.now = "running"
            return difference(
                self.spark,
                lambda: self.frame(query, binding, expected),
                lambda: self.frame(query, binding, actual),
                scratch,
            )

        with self.serving(query, actual):
            return bounded(self.spark.sparkContext, compared, tag=tag, timeout_s=timeout_s)

    def newest_versions(self, query: Query, arm: Arm) -> dict[str, int | None]:
        """The version each table of the query has now; trials stay on the pinned ones, but a commit disturbs them."""
        return newest_versions(self.tables_read(query, arm))

    def effective_settings(self, names: Iterable[str]) -> dict[str, str]:
        """What these settings are in this Spark; one it does not know or holds as another type is an error."""
        memory = started_memory(self.spark.sparkContext)
        held = {} if self.executors.alone else {EXECUTORS: str(self.executor_count)}
        return {**self.knobs.effective(names), "cores": str(self.cores), **memory, **held}

    def close(self) -> None:
        """Forget the isolated sessions; the Spark session itself belongs to the process."""
        if self._held is not None:
            self._held.close()
            self._held = None
        self._sessions.clear()
        self.frames.forget()
