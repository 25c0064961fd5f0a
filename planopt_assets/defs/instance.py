"""Dagster's storage for a workload, and the run of the loop in this process."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

from planopt_assets.defs import names
from planopt_assets.defs.dead_runs import PROCESS_TAG, end_dead_runs, this_process
from planopt_assets.defs.resources import WorkspaceResource
from planopt_assets.errors import RunFailed
from planopt_assets.store.writable import check_writable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt_assets.engine.delta.pins import Pins
    from planopt_assets.loop.run import Progress
    from planopt_assets.model.workload import Workload

_PACKAGE = Path(__file__).parent.parent
_NAMES = names.Names()  # of planopt's own code location


def dagster_home(workload: Workload) -> Path:
    """`DAGSTER_HOME` if it is set, else a folder beside the workload file with planopt's `dagster.yaml`."""
    home = os.environ.get("DAGSTER_HOME")
    home_path = Path(home) if home else workload.file.parent / ".planopt" / "dagster"
    check_writable(home_path, "Dagster's storage")
    if home:
        return home_path
    home_path.mkdir(parents=True, exist_ok=True)
    shipped = next(f for f in (_PACKAGE / "dagster.yaml", _PACKAGE.parent / "dagster.yaml") if f.is_file())
    if not (home_path / "dagster.yaml").exists():
        shutil.copy(shipped, home_path / "dagster.yaml")
    return home_path


def register_queries(instance: dg.DagsterInstance, workload: Workload, called: names.Names = _NAMES) -> list[str]:
    """Register one partition per query, in the order of the workload file. Returns the other ones, now removed."""
    return _register(instance, called.partitions, [q.id for q in workload.queries])


def register_tables(instance: dg.DagsterInstance, workload: Workload, called: names.Names = _NAMES) -> list[str]:
    """The same for one partition per table."""
    return _register(instance, called.table_partitions, [t.name for t in workload.tables])


def _register(instance: dg.DagsterInstance, partitions: str, wanted: list[str]) -> list[str]:
    removed = sorted(set(instance.get_dynamic_partitions(partitions)) - set(wanted))
    for gone in removed:
        instance.delete_dynamic_partition(partitions, gone)
    instance.add_dynamic_partitions(partitions, wanted)
    return removed


def run_loop(
    definitions: dg.Definitions,
    workload: Workload,
    query_ids: Sequence[str],
    listener: Progress,
    *,
    priority: int = 0,
    named: Sequence[str] = (),
    job: str = names.OPTIMIZE_SELECTED_JOB,
    started_at: float | None = None,
) -> tuple[str, Pins]:
    """Run the Dagster job for these queries in this process. Returns the run id and the table versions it read.

    Runs with the same `started_at` share one budget: 600 s of `per_run`, of which layouts took 200, leave 400 s.
    """
    home = dagster_home(workload)
    os.environ.setdefault("DAGSTER_DISABLE_TELEMETRY", "1")
    resource = WorkspaceResource(workload=str(workload.file)).listening(listener).naming(named).since(started_at)
    with dg.DagsterInstance.from_config(str(home)) as instance:
        register_queries(instance, workload)
        register_tables(instance, workload)
        end_dead_runs(instance)
        result = definitions.resolve_job_def(job).execute_in_process(
            instance=instance,
            # Hardcoded, because Dagster copies a configurable resource, and the copy would have no listener.
            resources={_NAMES.workspace: dg.ResourceDefinition.hardcoded_resource(resource)},
            run_config={
                **_NAMES.run_config(query_ids, job=job),
                "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
            },
            tags={names.PRIORITY_TAG: str(priority), PROCESS_TAG: this_process()},
            raise_on_error=False,
        )
        if not result.success:
            raise _failure(result)
        return result.run_id, resource.pins


def _failure(result: dg.ExecuteInProcessResult) -> RunFailed:
    """The first failed step as an error. An error of planopt keeps its code, message and fix."""
    where, fix = f"run {result.run_id}", "correct the cause and run again: finished stages are stored and not repeated"
    data = next((e.step_failure_data for e in result.all_events if e.is_step_failure), None)
    if data is None:
        return RunFailed("the Dagster run failed before any step", where=where, fix=fix)
    if data.user_failure_data is not None and "code" in data.user_failure_data.metadata:
        facts = {name: str(value.value) for name, value in data.user_failure_data.metadata.items()}
        return RunFailed(f"{facts['code']} {facts['where']}: {facts['what']}", where=where, fix=facts["fix"])
    error = data.error.cause or data.error if data.error else None
    words = error.message.strip().splitlines()[0] if error else "a step failed"
    return RunFailed(words, where=where, fix=fix)
