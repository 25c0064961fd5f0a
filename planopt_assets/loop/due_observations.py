"""Which queries are due to be observed, and because of what. Quick, and never starts Spark: sensors ask it.

It reads only what the step of observe looks at. Decisions, verdicts and chains stay unread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt_assets.engine.sessions.java import java_release
from planopt_assets.loop.histories import artifacts_of, grouped
from planopt_assets.loop.standing import Standing
from planopt_assets.loop.standings import gone_tables, inputs_now
from planopt_assets.loop.steps import step
from planopt_assets.observe.sql.named_tables import named_tables
from planopt_assets.store.codecs.deciding import CANDIDATES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planopt_assets.engine.delta.pins import Pins
    from planopt_assets.loop.standings import Cause
    from planopt_assets.model.inputs import QuerySource
    from planopt_assets.model.observation import PlanArtifact
    from planopt_assets.model.workload import Query, Workload
    from planopt_assets.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class DueObservation:
    """One query that `planopt plan` would observe."""

    query_id: str
    why: str
    inputs: str  # identifies what is to be observed: two ticks that see the same say the same
    reads: frozenset[str]  # tables, by name in lower case
    cause: Cause


def due_observations(
    workload: Workload, snapshot: Snapshot, sources: Mapping[str, QuerySource], pins: Pins
) -> dict[str, DueObservation]:
    """The queries whose step of observe is needed, in the order of the workload file."""
    artifacts = grouped(artifacts_of(snapshot, None), lambda a: a.query_id)
    candidates = grouped(snapshot.read(CANDIDATES), lambda c: c.query_id)
    gone, java = gone_tables(workload, pins), java_release()
    found = {}
    for query in workload.queries:
        known = artifacts.get(query.id, [])
        now = inputs_now(workload, query, sources[query.id], known, candidates.get(query.id, []), pins, gone, java)
        one = step(
            Standing(
                query_id=query.id,
                query_fingerprint=now.query_fingerprint,
                input_fingerprint=now.fingerprint,
                mode=workload.mode,
                artifacts=now.artifacts,
                decisions=(),
                candidates=(),
                verdicts=(),
                missing=now.missing,
                changes=now.changes,
            ),
            "observe",
        )
        if one.needed:
            inputs = now.fingerprint or now.query_fingerprint
            found[query.id] = DueObservation(query.id, one.why, inputs, _reads(query, known), now.cause)
    return found


def _reads(query: Query, artifacts: Sequence[PlanArtifact]) -> frozenset[str]:
    """By its last observation that saw a plan, or by its text where there is none."""
    captured = next((a for a in reversed(artifacts) if a.captured), None)
    names = {t.name.lower() for t in captured.tables} if captured else named_tables(query.sql or "")
    return frozenset(names)


def table_places(workload: Workload, snapshot: Snapshot) -> dict[str, str]:
    """Where each table is. One of the catalog is where a query last read it, and left out before: only Spark knows."""
    elsewhere: dict[str, str] = {}
    if any(t.path is None for t in workload.tables):
        elsewhere = {t.name: t.location for a in artifacts_of(snapshot, None) for t in a.tables}
    places = {t.name: t.path or elsewhere.get(t.name) for t in workload.tables}
    return {name: place for name, place in places.items() if place is not None}
