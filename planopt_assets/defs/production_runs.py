"""Sensor `production_runs`: what watch finds in rows of the user's jobs is taken back at once. Off by default."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import dagster as dg

from planopt_assets.automate.backlog import next_batch, read_position
from planopt_assets.defs import names
from planopt_assets.defs.run_requests import at_work, key_of, run_request
from planopt_assets.defs.workload_sensor import workload_sensor
from planopt_assets.loop.run import read_standings
from planopt_assets.loop.steps import step
from planopt_assets.store.collector import collector_paused
from planopt_assets.store.news import news_since

if TYPE_CHECKING:
    from planopt_assets.defs.code_location import CodeLocation
    from planopt_assets.defs.current_workload import CurrentWorkload
    from planopt_assets.loop.standing import Standing
    from planopt_assets.store.snapshot import Snapshot


def production_runs(location: CodeLocation) -> dg.SensorDefinition:
    called = location.names

    def tick(context: dg.SensorEvaluationContext, current: CurrentWorkload, snapshot: Snapshot) -> dg.SensorResult:
        workload, position = current.workload, read_position(context.cursor, of=current.workload.store)
        if run_id := at_work(context.instance, context.sensor_name):
            return dg.SensorResult(skip_reason=f"run {run_id} is still at work", cursor=context.cursor)
        news = news_since(snapshot, position.numbers)
        batch = next_batch(news.query_ids, news.newest, position)
        known = {q.id for q in workload.queries}.intersection(batch.query_ids)
        with collector_paused():
            found = read_standings(workload, snapshot=snapshot, query_ids=known) if known else {}
        due = {q: s for q, s in found.items() if s.due is not None and step(s, "promote").needed}
        if not due:
            said = f"{len(batch.query_ids)} queries with new rows, nothing to take back" if known else "no new rows"
            return dg.SensorResult(skip_reason=said, cursor=batch.position.text())
        key = key_of({q: _event(standing) for q, standing in due.items()})
        request = run_request(context.instance, called, names.TAKE_BACK_JOB, key, list(due))
        if isinstance(request, str):
            return dg.SensorResult(skip_reason=f"{', '.join(due)}: {request}", cursor=batch.position.text())
        # The position stays: the next tick looks at the same rows, and goes on once nothing is due.
        return dg.SensorResult(run_requests=[request], cursor=position.text())

    return workload_sensor(
        location,
        "production_runs",
        tick,
        job=names.TAKE_BACK_JOB,
        description="A policy that got worse in production, or expired, is taken back before the next sweep.",
    )


def _event(standing: Standing) -> str:
    """What is due for a query: the same evidence against the same generation is the same event."""
    assert standing.due is not None
    generation = standing.active.generation if standing.active else 0
    return json.dumps([generation, standing.due.reason])
