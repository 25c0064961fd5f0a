"""VACUUM on a person's word: refused below the retention, and while a run or a clone needs files of an old version."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from planopt_assets.engine.delta.clones import Clones
from planopt_assets.engine.delta.delta_log import read_table_facts
from planopt_assets.engine.delta.protocol import writable
from planopt_assets.engine.delta.vacuuming import vacuum
from planopt_assets.errors import MaintenanceRefused, PlanoptError, VacuumRefused
from planopt_assets.loop.maintaining.records import keep_action
from planopt_assets.maintain import retention
from planopt_assets.maintain.permission import may_not_write
from planopt_assets.model.location import is_folder
from planopt_assets.model.maintenance_action import MaintenanceAction

if TYPE_CHECKING:
    from planopt_assets.loop.run import Run
    from planopt_assets.model.table_facts import TableFacts


def vacuum_table(run: Run, table: str, *, hours: float | None, who: str) -> MaintenanceAction:
    """Delete files that no version within the table's own retention needs; what is refused is stored too, and raised.

    The loop never calls this. `hours` is what the person expects the retention to be at most; Delta takes the table's.
    """
    run.workspace.revive()
    pinned = next(t for t in run.workspace.tables if t.name == table)
    facts = read_table_facts(table, pinned.location)
    action = MaintenanceAction(
        run.event_id("mnt", table, "vacuum"),
        *(table, facts.table_id, "vacuum", "failed"),
        "deletes files that no version within the retention needs",
        version_before=facts.version,
        who=who,
    )
    started = time.perf_counter_ns()
    declared, mode = run.workload.table(table), run.workload.mode
    try:
        why, fix = may_not_write(declared, mode, by_hand=True, unknown_features=writable(facts))
        if why:
            raise MaintenanceRefused(why, where=f"table {table}", fix=fix)
        _check_retention(table, facts, hours)
        _check_needs(run, table, pinned.location, facts.version)
        vacuum(run.workspace.spark, table, pinned.location)
    except PlanoptError as error:
        keep_action(run, replace(action, status="refused", reason=str(error), error_code=error.code))
        raise
    version = read_table_facts(table, pinned.location).version
    done = replace(action, status="applied", version_after=version, took_ns=time.perf_counter_ns() - started)
    keep_action(run, done)
    return done


def _check_retention(table: str, facts: TableFacts, hours: float | None) -> None:
    kept = retention.hours(dict(facts.properties), retention.FILES)
    if hours is not None and hours < kept:
        raise VacuumRefused(
            f"{hours:g} hours are below its retention of {kept:g} hours: readers and writers may still use the files",
            where=f"table {table}",
            fix=f"leave `--hours` out, or change `{retention.FILES}` of the table first",
        )


def _check_needs(run: Run, table: str, location: str, newest: int) -> None:
    if not is_folder(run.workload.store):
        raise VacuumRefused(
            f"the store {run.workload.store} is no folder, so runs leave no mark there of the versions they need",
            where=f"table {table}",
            fix="run `VACUUM` yourself while nothing reads an older version",
        )
    clones = Clones(run.workload.store)
    clones.sweep()  # what ended processes left needs nothing
    for mark in clones.marks():
        version = mark.needs_of(location, newest)
        if version is not None or mark.needs is None:
            of = f"version {version} of it" if version is not None else "a version of it, perhaps"
            raise VacuumRefused(
                f"{mark.id} needs {of}: a run or a trial is active",
                where=f"table {table}",
                fix="wait until it has ended",
            )
