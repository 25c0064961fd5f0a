"""Sensor `workload_changes`: queries of the file become partitions, new and changed ones a run. Off by default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from planopt_assets.defs import names
from planopt_assets.defs.on_change import change_tick
from planopt_assets.defs.workload_sensor import workload_sensor
from planopt_assets.engine.delta.pins import Pins
from planopt_assets.loop.due_observations import due_observations

if TYPE_CHECKING:
    import dagster as dg

    from planopt_assets.defs.code_location import CodeLocation
    from planopt_assets.defs.current_workload import CurrentWorkload
    from planopt_assets.loop.due_observations import DueObservation
    from planopt_assets.store.snapshot import Snapshot

SOURCE = "workload"


def workload_changes(location: CodeLocation) -> dg.SensorDefinition:
    called = location.names

    def tick(context: dg.SensorEvaluationContext, current: CurrentWorkload, snapshot: Snapshot) -> dg.SensorResult:
        workload = current.workload

        def due_for(ready: Sequence[str], waiting: Sequence[str]) -> Mapping[str, DueObservation]:
            due = due_observations(workload, snapshot, current.sources(), Pins())
            return {q: one for q, one in due.items() if one.cause != "tables"}

        wanted = [query.id for query in workload.queries]
        have = context.instance.get_dynamic_partitions(called.partitions)
        new, gone = [q for q in wanted if q not in set(have)], [q for q in have if q not in set(wanted)]
        requests = [location.queries.build_add_request(new)] if new else []
        removals = [location.queries.build_delete_request(gone)] if gone else []
        settle = workload.automation.settle
        return change_tick(
            context,
            called,
            {SOURCE: current.identity()},
            due_for,
            settle=settle,
            interval=max(settle, workload.automation.every),
            dynamic_partitions_requests=[*requests, *removals],
        )

    return workload_sensor(
        location,
        "workload_changes",
        tick,
        job=names.OPTIMIZE_SELECTED_JOB,
        description="Queries of the workload file become partitions. New and changed ones start a run. A change of "
        "spelling does not.",
    )
