"""One tick of a sensor that asks for a run when a source changed. The table and the workload sensor share it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import time
from typing import TYPE_CHECKING, Any

import dagster as dg

from planopt_assets.automate import changes
from planopt_assets.defs import names
from planopt_assets.defs.run_requests import at_work, key_of, run_request, states
from planopt_assets.errors import PlanoptError

if TYPE_CHECKING:
    from planopt_assets.loop.due_observations import DueObservation


def change_tick(
    context: dg.SensorEvaluationContext,
    called: names.Names,
    identities: Mapping[str, str],
    due_for: Callable[[Sequence[str], Sequence[str]], Mapping[str, DueObservation]],
    *,
    settle: float,
    interval: float,
    **more: Any,
) -> dg.SensorResult:
    """Look at every source; request one run for the queries that are due because of those that are ready.

    `due_for` gets the sources that are ready, and those that have to settle yet. It reads the store, and is called only
    if one is ready. `more` goes into the result.
    """
    now, sensor = time(), context.sensor_name
    before = changes.read_cursor(context.cursor)
    sources = changes.look(before, identities, now)

    def result(after: changes.Cursor, said: str, *requests: dg.RunRequest) -> dg.SensorResult:
        skip = None if requests else dg.SkipReason(said)
        context.log.info(said)
        return dg.SensorResult(
            run_requests=list(requests) or None, skip_reason=skip, cursor=changes.write_cursor(after), **more
        )

    if run_id := at_work(context.instance, sensor):
        return result(sources, f"run {run_id} is still at work{_pending(sources)}")
    sources = changes.heard(sources, states(context.instance, (s.asked for s in sources.values())))
    ready = changes.ready(sources, now, settle=settle, interval=interval)
    if not ready:
        return result(sources, _quiet(sources))
    try:
        due = due_for(ready, [name for name, source in sources.items() if source.pending and name not in ready])
    except PlanoptError as error:  # asked again in the next tick; what is known of the sources, and `more`, is kept
        return result(sources, str(error))
    if not due:
        return result(changes.handled(sources, ready), f"changed: {', '.join(ready)}; no query needs a run")
    key = key_of({one.query_id: one.inputs for one in due.values()})
    request = run_request(context.instance, called, names.OPTIMIZE_SELECTED_JOB, key, list(due))
    if isinstance(request, str):
        return result(changes.handled(sources, ready), f"changed: {', '.join(ready)}; {request}")
    return result(changes.asked(sources, ready, key, now), f"{', '.join(ready)}: {len(due)} queries", request)


def _pending(sources: changes.Cursor) -> str:
    waiting = [name for name, source in sources.items() if source.pending and not source.asked]
    return f"; then {', '.join(waiting)}" if waiting else ""


def _quiet(sources: changes.Cursor) -> str:
    lost = [
        f"{name} cannot be read: {s.identity.lstrip(changes.UNREADABLE)}"
        for name, s in sources.items()
        if not s.readable
    ]
    waiting = [f"{name} changed and has not settled" for name, source in sources.items() if source.pending]
    return "; ".join([*lost, *waiting]) or "nothing changed"
