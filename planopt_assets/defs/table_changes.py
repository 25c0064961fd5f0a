"""Sensor `table_changes`: a new version of a table starts a run for the queries that read it. Off by default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from planopt_assets.automate.changes import UNREADABLE, read_cursor
from planopt_assets.defs import names
from planopt_assets.defs.on_change import change_tick
from planopt_assets.defs.tables import table_observation
from planopt_assets.defs.workload_sensor import workload_sensor
from planopt_assets.engine.delta.pins import Pins
from planopt_assets.errors import TableUnreadable
from planopt_assets.loop.due_observations import due_observations, table_places

if TYPE_CHECKING:
    import dagster as dg

    from planopt_assets.defs.code_location import CodeLocation
    from planopt_assets.defs.current_workload import CurrentWorkload
    from planopt_assets.loop.due_observations import DueObservation
    from planopt_assets.model.workload import Workload
    from planopt_assets.store.snapshot import Snapshot

OBSERVATIONS = "observations"
"""A source like the tables. A run that began before a commit may end after it was handled: then its queries are due."""


def table_changes(location: CodeLocation) -> dg.SensorDefinition:
    called = location.names

    def tick(context: dg.SensorEvaluationContext, current: CurrentWorkload, snapshot: Snapshot) -> dg.SensorResult:
        workload, pins = current.workload, Pins()
        found = _tables(workload, snapshot, pins)

        def due_for(ready: Sequence[str], waiting: Sequence[str]) -> Mapping[str, DueObservation]:
            names = set(found) - set(waiting) if OBSERVATIONS in ready else set(ready)
            moved = {name.lower() for name in names}
            due = due_observations(workload, snapshot, current.sources(), pins)
            return {q: one for q, one in due.items() if one.cause != "definition" and one.reads & moved}

        identities = {name: identity for name, (identity, _) in found.items()}
        identities[OBSERVATIONS] = str(snapshot.version("plan_artifacts"))
        known = read_cursor(context.cursor)
        events = [
            event
            for name, (identity, event) in found.items()
            if event is not None and (name not in known or known[name].identity != identity)
        ]
        pace = workload.automation
        return change_tick(
            context,
            called,
            identities,
            due_for,
            settle=pace.settle,
            interval=pace.interval,
            asset_events=events,
        )

    def _tables(
        workload: Workload, snapshot: Snapshot, pins: Pins
    ) -> dict[str, tuple[str, dg.AssetObservation | None]]:
        """Every table with its identity: id, version and head, so that a table put in place of another is seen too."""
        found: dict[str, tuple[str, dg.AssetObservation | None]] = {}
        for name, place in table_places(workload, snapshot).items():
            try:
                facts = pins.facts(name, place)
            except TableUnreadable as error:
                found[name] = (f"{UNREADABLE}{error.code} {error.what}", None)
                continue
            known = {"files": facts.files, "size_bytes": facts.bytes}
            event = table_observation(
                called,
                name,
                table_id=facts.table_id,
                version=facts.version,
                metadata={**{n: v for n, v in known.items() if v is not None}, "dagster/uri": place},
            )
            found[name] = (f"{facts.table_id}@{facts.version} {facts.head}", event)
        return found

    return workload_sensor(
        location,
        "table_changes",
        tick,
        job=names.OPTIMIZE_SELECTED_JOB,
        description="A commit to a source table starts a run for the queries that read it, once the table has settled.",
    )
