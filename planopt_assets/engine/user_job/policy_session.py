"""One use of a policy in a user's job: a copy of the session, the frames built in it, and what Spark says they cost."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.frames.callables import ARROW
from planopt_assets.engine.frames.carried import check_carried
from planopt_assets.engine.frames.hints import JoinHints
from planopt_assets.engine.frames.policy_text import check_columns, policy_text
from planopt_assets.engine.jvm.bridge import jvm_of
from planopt_assets.engine.user_job.meaning import Meaning
from planopt_assets.engine.user_job.production import Executions, RanAs
from planopt_assets.engine.user_job.table_sizes import table_sizes
from planopt_assets.engine.user_job.user_session import (
    MARKER,
    applied_in,
    bound_to_scans,
    check_reached,
    copy_of,
    named_in,
    own_value,
    rebuilt,
    renew_views,
    run_sql,
    schemas_in,
    set_or_unset,
)
from planopt_assets.errors import PolicyNotApplied
from planopt_assets.model.policy import Policy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from planopt_assets.model.conditions import TableState
    from planopt_assets.model.execution import Execution
    from planopt_assets.model.workload import Table


class PolicySession:
    """A policy is applied whole or not at all: what cannot be done is `PolicyNotApplied`, before anything runs."""

    def __init__(
        self, spark: SparkSession, policy: Policy, tables: Sequence[Table], proven: Sequence[TableState] = ()
    ) -> None:
        """`proven` are the tables that the policy was proven on; none for original and for a pin."""
        check_carried(policy)
        self.policy = policy
        self.marker = _new_marker()
        self._tables = tables
        self._meaning = Meaning(proven, tables)
        self._executions = Executions(spark)
        self._after = self._executions.newest()
        self.spark = copy_of(spark, self.marker, policy.settings)
        self._without = {name: before for name, (_, before) in applied_in(self.spark).items()}
        # Views that an outer policy's session made read as that policy says.
        self._binds_scans = bool(bound_to_scans([*policy.settings, *((name, "") for name in applied_in(spark))]))

    def sql(self, text: str, args: Mapping[str, Any] | None) -> DataFrame:
        """The frame of a text, rewritten and hinted as the policy says."""
        self.check_functions()
        self._renew(named_in(text, self._tables))

        def analysed(variant: str) -> DataFrame:
            return run_sql(self.spark, variant, dict(args or {}), self._tables)

        self._meaning.check_names(self.spark)
        joins = JoinHints(jvm_of(self.spark))
        wanted = policy_text(text, self.policy, analysed, joins)
        frame = analysed(wanted.sql)
        if wanted.plan_hints:
            frame = joins.hinted(frame, wanted.plan_hints)
        check_reached(frame, self.spark, self.policy.settings)
        check_columns(self.spark, wanted)
        return frame

    def adopt(self, frame: DataFrame) -> DataFrame:
        """A frame of the user's own session, taken over into this one."""
        self.check_functions()
        return self.with_hints(rebuilt(frame, self.spark))

    def renew_all(self) -> None:
        """Make every table of the workload ready for a job that builds its own frames."""
        self._meaning.check_names(self.spark)
        self._renew(self._tables)

    def suspend(self) -> None:
        """From here on the session is as original: a frame of it that is planned later is planned and read so.

        What a job has set itself stays as the job wants it. What runs from here on is told apart by another marker.
        """
        for name, value in self.policy.settings:
            if own_value(self.spark, name) == value:
                set_or_unset(self.spark, name, self._without[name])
        self._mark_anew()

    def resume(self) -> None:
        """Under the policy again, unless somebody has set one of its settings meanwhile."""
        for name, before in self._without.items():
            if own_value(self.spark, name) != before:
                raise self._set_by_the_job(name)
        for name, value in self.policy.settings:
            self.spark.conf.set(name, value)
        self._mark_anew()

    def as_original(self, frame: DataFrame) -> tuple[DataFrame, Policy]:
        """A frame of this session without the policy, and what of it could not be taken out again.

        The frame is planned anew, in its own session: there its scans read the settings they were made with, which are
        those of original now. Only a Python function keeps the way it was made for rows to travel.
        """
        self.suspend()
        kept = Policy.of({name: value for name, value in self.policy.settings if name == ARROW})
        try:
            return rebuilt(frame, self.spark), kept
        except PolicyNotApplied:
            return frame, kept  # a stream or an observed frame: it has no other session, and is planned when it runs

    def _set_by_the_job(self, name: str) -> PolicyNotApplied:
        return PolicyNotApplied(
            f"the job sets {name} itself", where=self.policy.id, fix="leave that to planopt, or deny the knob"
        )

    def _mark_anew(self) -> None:
        self.marker = _new_marker()
        self.spark.conf.set(MARKER, self.marker)

    def with_hints(self, frame: DataFrame) -> DataFrame:
        """A frame built in this session, with the policy's hints in its plan."""
        if self.policy.rewrites:
            raise PolicyNotApplied(
                f"rewrite not applied: {self.policy.rewrites[0]} needs the query's text", fix="use `tuned(…).sql`"
            )
        if not frame.sparkSession._jsparkSession.equals(self.spark._jsparkSession):
            frame = rebuilt(frame, self.spark)  # of the user's session, which the policy does not reach
        for name, value in self.policy.settings:
            if own_value(self.spark, name) != value:
                raise self._set_by_the_job(name)
        self._meaning.check_frame(frame)
        if self.policy.hints:
            frame = JoinHints(jvm_of(self.spark)).hinted(frame, self.policy.hints)
        check_reached(frame, self.spark, self.policy.settings)
        return frame

    def check_functions(self) -> None:
        """An error where the policy is about Python functions, which must then be made while it holds."""
        if ARROW in dict(self.policy.settings):
            raise PolicyNotApplied(
                f"{ARROW} cannot reach a Python function that was made before",
                where=self.policy.id,
                fix="use `tuned(…).run()` with the workload's own callable",
            )

    def schemas(self, text: str) -> dict[str, list[tuple[str, str]]]:
        """The columns of the workload's tables that a text names, as they are in this session."""
        return schemas_in(self.spark, named_in(text, self._tables))

    def runs(self, frame: DataFrame | None, ran_as: RanAs) -> list[Execution]:
        """What was executed in this session so far, and has ended."""
        found = self._executions.runs(self.marker, self._after, frame, ran_as)
        sizes = table_sizes(frame, self._tables) if frame is not None and found else ()
        return [replace(run, table_sizes=sizes) for run in found]

    def _renew(self, tables: Sequence[Table]) -> None:
        if self._binds_scans:
            renew_views(self.spark, tables)


def _new_marker() -> str:
    return uuid.uuid4().hex[:12]
