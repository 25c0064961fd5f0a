"""The workload and its Spark session as Dagster resources. Spark starts only when a stage needs it."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import dagster as dg
from dagster_pyspark import LazyPySparkResource
from pydantic import PrivateAttr

from planopt_assets.defs.names import Names
from planopt_assets.engine.delta.pins import Pins
from planopt_assets.engine.sessions.session import open_session, session_settings
from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.run import Progress, Run
from planopt_assets.model.workload import Workload
from planopt_assets.store.compaction import compact_store
from planopt_assets.workload import load_workload

WORKLOAD_VARIABLE = "PLANOPT_WORKLOAD"
DEFAULT_WORKLOAD = "planopt.yaml"


def workload_file() -> str:
    """The workload file of this code location: `PLANOPT_WORKLOAD`, or `planopt.yaml` in the working directory."""
    return os.environ.get(WORKLOAD_VARIABLE, DEFAULT_WORKLOAD)


def workspace_of(context: dg.OpExecutionContext | dg.AssetExecutionContext, names: Names) -> WorkspaceResource:
    """The workspace of a step. By key, because a prefix is part of the key."""
    found = getattr(context.resources, names.workspace)
    assert isinstance(found, WorkspaceResource)
    return found


class CheckedPySparkResource(LazyPySparkResource):
    """dagster-pyspark's lazy session. It refuses a process that already has a session with other settings."""

    _workload: Workload = PrivateAttr()

    @classmethod
    def of(cls, workload: Workload) -> CheckedPySparkResource:
        resource = cls(spark_config=session_settings(workload))
        resource._workload = workload
        return resource

    @property
    def spark_session(self) -> Any:
        return open_session(self._workload)


class WorkspaceResource(dg.ConfigurableResource[Workspace]):
    """One `Workspace` per Dagster run, shared by all stages of the run."""

    workload: str
    _workspace: Workspace | None = PrivateAttr(default=None)
    _listener: Progress | None = PrivateAttr(default=None)
    _named: frozenset[str] | None = PrivateAttr(default=None)
    _budget_s: float | None = PrivateAttr(default=None)
    _started_at: float | None = PrivateAttr(default=None)

    def listening(self, listener: Progress) -> WorkspaceResource:
        """The same resource. It sends progress to `listener` (the terminal) and to Dagster's log."""
        self._listener = listener
        return self

    def naming(self, query_ids: Collection[str]) -> WorkspaceResource:
        """The same resource. A person named these queries: they run even if they ended a session before."""
        if self._named is None:  # `planopt run` knows it better than the configuration it makes
            self._named = frozenset(query_ids)
        return self

    def within(self, budget_s: float | None) -> WorkspaceResource:
        """The same resource. The run may take so many seconds, instead of the workload's `per_run`."""
        self._budget_s = budget_s
        return self

    def since(self, started_at: float | None) -> WorkspaceResource:
        """The same resource. Its budgets count from this moment of the monotonic clock: the command began then."""
        self._started_at = started_at
        return self

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        if self._workspace is not None:
            self._workspace.close()
            compact_store(self._workspace.workload.store)  # the last step of a run; `planopt run` does it itself

    @property
    def pins(self) -> Pins:
        assert self._workspace is not None
        return self._workspace.pins

    def run(self, run_id: str, progress: Progress, *, by_hand: bool = False) -> Run:
        if self._workspace is None:
            workload = load_workload(Path(self.workload))
            spark = CheckedPySparkResource.of(workload)
            self._workspace = Workspace(workload, lambda: spark.spark_session, started_at=self._started_at)
        return Run(
            self._workspace,
            run_id,
            self._told(progress),
            by_hand=by_hand,
            named=self._named or (),
            budget_s=self._budget_s,
        )

    def _told(self, progress: Progress) -> Progress:
        listener = self._listener
        if listener is None:
            return progress

        def both(stage: str, query: str, words: str) -> None:
            progress(stage, query, words)
            listener(stage, query, words)

        return both
