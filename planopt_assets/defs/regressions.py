"""Sensor `regressions`: verdicts, watch, gates and lost tables become alerts. It starts no runs. Off by default."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from time import time
from typing import TYPE_CHECKING

import dagster as dg

from planopt_assets.alert.announce import Announcer
from planopt_assets.automate.backlog import next_batch, read_position
from planopt_assets.automate.outages import lasting, outages
from planopt_assets.defs.workload_sensor import workload_sensor
from planopt_assets.engine.delta.pins import Pins
from planopt_assets.errors import TableUnreadable
from planopt_assets.loop.due_observations import table_places
from planopt_assets.loop.gates import evaluate
from planopt_assets.loop.incidents import incidents, unreadable_table
from planopt_assets.loop.run import read_standings
from planopt_assets.model.alerts import table_subject
from planopt_assets.store.collector import collector_paused
from planopt_assets.store.news import news_since

if TYPE_CHECKING:
    from planopt_assets.defs.code_location import CodeLocation
    from planopt_assets.defs.current_workload import CurrentWorkload
    from planopt_assets.model.workload import Workload
    from planopt_assets.store.snapshot import Snapshot

SPEAK_S = 20.0
"""For all messages of a tick: Dagster ends a sensor after 60 s. What is left is said in the next tick."""


def regressions(location: CodeLocation) -> dg.SensorDefinition:
    def tick(context: dg.SensorEvaluationContext, current: CurrentWorkload, snapshot: Snapshot) -> dg.SensorResult:
        workload, now = current.workload, time()
        # Other limits, other queries: everything may have another answer.
        position = read_position(context.cursor, of=current.identity())
        announcer = Announcer(workload.name, workload.alerts, context.instance.daemon_cursor_storage)
        told = announcer.open_subjects()
        lost = _unreadable(workload, snapshot)
        position = replace(position, unreadable=outages(position.unreadable, lost, now))
        news = news_since(snapshot, position.numbers)
        batch = next_batch(news.query_ids, news.newest, position)
        tables = {table_subject(table.name): table.name for table in workload.tables}
        asked = {*batch.query_ids, *told, *tables}
        known = [q.id for q in workload.queries if q.id in asked]
        with collector_paused():
            standings = read_standings(workload, snapshot=snapshot, query_ids=known) if known else {}
            found = incidents(standings.values(), evaluate(known, snapshot, standings) if known else {})
        away = position.unreadable
        for name in lasting(
            away, now, patience=workload.automation.interval, told={tables[one] for one in tables.keys() & told}
        ):
            found.append(unreadable_table(name, lost[name], datetime.fromtimestamp(away[name], UTC)))
        said = announcer.announce(found, asked, clock=time, until=now + SPEAK_S)
        for line in said.failed:
            context.log.warning(line)
        words = f"{len(known)} queries, {len(found)} incidents, {said.sent} messages sent"
        failed = f"; not taken: {'; '.join(said.failed)}" if said.failed else ""
        where = "" if workload.alerts else "; the workload file has no `alerts:`"
        return dg.SensorResult(skip_reason=f"{words}{failed}{where}", cursor=batch.position.text())

    return workload_sensor(
        location,
        "regressions",
        tick,
        description="One message per incident to the destinations of `alerts:`, and another when it is over.",
    )


def _unreadable(workload: Workload, snapshot: Snapshot) -> dict[str, TableUnreadable]:
    found, pins = {}, Pins()
    for name, place in table_places(workload, snapshot).items():
        try:
            pins.facts(name, place)
        except TableUnreadable as error:
            found[name] = error
    return found
