"""Schedules: a sweep every night over what is due, and upkeep of the store every week. Off by default."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from planopt_assets.defs import names
from planopt_assets.defs.current_workload import current_workload
from planopt_assets.defs.dead_runs import end_dead_runs
from planopt_assets.defs.stage_metadata import nothing_due
from planopt_assets.engine.delta.pins import Pins
from planopt_assets.errors import PlanoptError
from planopt_assets.loop.agenda import agenda_of
from planopt_assets.loop.run import read_standings
from planopt_assets.loop.sweep import sweep_order
from planopt_assets.loop.table_standing import table_standings
from planopt_assets.store.snapshot import Snapshot

if TYPE_CHECKING:
    from planopt_assets.defs.code_location import CodeLocation

_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")  # as cron counts them


def nightly_sweep(location: CodeLocation) -> dg.ScheduleDefinition:
    """All that `planopt plan` lists, the best promise first. What the night's budget does not reach is due tomorrow."""
    called, when = location.names, location.automation

    @dg.schedule(
        name=called.named("nightly_sweep"),
        job_name=called.named(names.OPTIMIZE_SELECTED_JOB),
        cron_schedule=f"0 {when.nightly_hour} * * *",
        execution_timezone=when.time_zone,
        description="The loop for every query that needs it, within the budget of a night.",
    )
    def schedule(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        end_dead_runs(context.instance)
        try:
            workload = current_workload(location.file).workload
            snapshot, pins, known = Snapshot(workload.store, workload.name), Pins(), [q.id for q in workload.queries]
            standings = read_standings(workload, pins, snapshot=snapshot)
            tables = table_standings(workload, snapshot, pins)
            agenda = agenda_of(workload, snapshot, standings, known, tables=tables)
        except PlanoptError as error:
            return dg.SkipReason(str(error))
        # A table may be due alone: then the run is one over all queries, which finds nothing to do for them.
        queries = sweep_order(agenda, snapshot) or (known if agenda.tables else [])
        if not queries:
            # Without it the freshness of `active_policies` would tell of a sweep that does not run any more.
            context.instance.report_runless_asset_event(nothing_due(called, workload, standings))
            return dg.SkipReason("nothing is due: queries, tables and settings are unchanged")
        night = context.scheduled_execution_time.strftime("%Y-%m-%d")
        return dg.RunRequest(
            run_key=f"sweep-{night}",
            run_config=called.run_config(queries, by_person=False, budget_s=workload.budgets.per_night),
            tags={names.PRIORITY_TAG: str(agenda.priority)},
        )

    return schedule


def weekly_upkeep(location: CodeLocation) -> dg.ScheduleDefinition:
    called, when = location.names, location.automation
    return dg.ScheduleDefinition(
        name=called.named("weekly_upkeep"),
        job_name=called.named(names.UPKEEP_JOB),
        cron_schedule=f"0 {when.weekly_hour} * * {_DAYS.index(when.weekly_day)}",
        execution_timezone=when.time_zone,
        description="Small files of the store become few, and old ones are deleted.",
    )
