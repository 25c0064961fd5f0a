"""Sensor `regressions`: verdicts, watch and gates become alerts. It starts no runs. Off by default."""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING

import dagster as dg

from planopt_assets.alert.announce import Announcer
from planopt_assets.automate.backlog import next_batch, read_position
from planopt_assets.defs.workload_sensor import workload_sensor
from planopt_assets.loop.gates import evaluate
from planopt_assets.loop.incidents import incidents
from planopt_assets.loop.run import read_standings
from planopt_assets.store.collector import collector_paused
from planopt_assets.store.news import news_since

if TYPE_CHECKING:
    from planopt_assets.defs.code_location import CodeLocation
    from planopt_assets.defs.current_workload import CurrentWorkload
    from planopt_assets.store.snapshot import Snapshot

SPEAK_S = 20.0
"""For all messages of a tick: Dagster ends a sensor after 60 s. What is left is said in the next tick."""


def regressions(location: CodeLocation) -> dg.SensorDefinition:
    def tick(context: dg.SensorEvaluationContext, current: CurrentWorkload, snapshot: Snapshot) -> dg.SensorResult:
        workload = current.workload
        # Other limits, other queries: everything may have another answer.
        position = read_position(context.cursor, of=current.identity())
        announcer = Announcer(workload.name, workload.alerts, context.instance.daemon_cursor_storage)
        news = news_since(snapshot, position.numbers)
        batch = next_batch(news.query_ids, news.newest, position)
        asked = {*batch.query_ids, *announcer.open_queries()}
        known = [q.id for q in workload.queries if q.id in asked]
        if not asked:
            return dg.SensorResult(skip_reason="no new rows", cursor=batch.position.text())
        with collector_paused():
            standings = read_standings(workload, snapshot=snapshot, query_ids=known)
            found = incidents(standings.values(), evaluate(known, snapshot, standings))
        said = announcer.announce(found, asked, clock=time, until=time() + SPEAK_S)
        for line in said.failed:
            context.log.warning(line)
        words = f"{len(asked)} queries, {len(found)} incidents, {said.sent} messages sent"
        lost = f"; not taken: {'; '.join(said.failed)}" if said.failed else ""
        where = "" if workload.alerts else "; the workload file has no `alerts:`"
        return dg.SensorResult(skip_reason=f"{words}{lost}{where}", cursor=batch.position.text())

    return workload_sensor(
        location,
        "regressions",
        tick,
        description="One message per incident to the destinations of `alerts:`, and another when it is over.",
    )
