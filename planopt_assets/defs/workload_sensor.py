"""What all sensors share: they are off by default, look at the workload as it is now, and survive what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import dagster as dg

from planopt_assets.defs.current_workload import current_workload
from planopt_assets.defs.dead_runs import end_dead_runs
from planopt_assets.errors import PlanoptError
from planopt_assets.store.snapshot import Snapshot

if TYPE_CHECKING:
    from planopt_assets.defs.code_location import CodeLocation
    from planopt_assets.defs.current_workload import CurrentWorkload

Tick = Callable[[dg.SensorEvaluationContext, "CurrentWorkload", Snapshot], dg.SensorResult]


def workload_sensor(
    location: CodeLocation, name: str, tick: Tick, *, description: str, job: str | None = None
) -> dg.SensorDefinition:
    """A sensor of this code location.

    What planopt knows as an error (a file half written, a store that cannot be read) is said in the tick. The cursor
    stays where it was, so the next tick asks the same again. Dead runs are ended first: a sensor waits for its own.
    """

    @dg.sensor(
        name=location.names.named(name),
        job_name=location.names.named(job) if job else None,
        minimum_interval_seconds=location.automation.every,
        description=description,
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        end_dead_runs(context.instance)
        try:
            current = current_workload(location.file)
            return tick(context, current, Snapshot(current.workload.store, current.workload.name))
        except PlanoptError as error:
            return dg.SensorResult(skip_reason=str(error), cursor=context.cursor)

    return sensor
