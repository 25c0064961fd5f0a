"""Every observation of a query, oldest first, with the scans and tables that belong to it. Never starts Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from planopt_assets.model.observation import Observation, ObservationHistory, PlanArtifact
from planopt_assets.store.codecs.observing import ACCEPTED, ARTIFACTS, INPUT_TABLES, SCANS, TREES

if TYPE_CHECKING:
    from planopt_assets.store.snapshot import Snapshot

T = TypeVar("T")
_ALL = "all artifacts"


def histories(snapshot: Snapshot, query_ids: Sequence[str]) -> dict[str, ObservationHistory]:
    """The history of each query. Each table is read once for all of them; a plan only when somebody asks for it.

    Scans are those of the newest observation. Tables are those of the newest observation, and of the earlier ones that
    saw the same tables last. No gate looks further back.
    """
    ids = set(query_ids)
    artifacts = grouped(artifacts_of(snapshot, ids), lambda a: a.query_id)
    runs = {q: grouped(artifacts.get(q, []), lambda a: a.stamp.run_id) for q in query_ids}
    newest = {a.observation_id for of_query in runs.values() for a in _last(of_query.values())}
    scans = grouped(snapshot.read(SCANS, observation_id=newest), lambda s: s.observation_id)
    compared = newest | {o for of_query in runs.values() for o in _saw_last(list(of_query.values()))}
    tables = grouped(snapshot.read(INPUT_TABLES, observation_id=compared), lambda t: t.observation_id)
    accepted = grouped(snapshot.read(ACCEPTED, query_id=ids), lambda a: a.query_id)

    def plan_of(observation_id: str) -> bytes | None:
        found = snapshot.read(TREES, observation_id=observation_id)
        return found[0].plan if found else None

    return {
        query_id: ObservationHistory(
            tuple(
                Observation(
                    query_id,
                    run_id,
                    tuple(sorted(seen, key=lambda a: a.binding)),
                    tuple(s for a in seen for s in scans.get(a.observation_id, [])),
                    tuple(t for a in seen for t in tables.get(a.observation_id, [])),
                )
                for run_id, seen in runs[query_id].items()
            ),
            frozenset(a.observation_id for a in accepted.get(query_id, [])),
            plan_of,
        )
        for query_id in query_ids
    }


def grouped(nouns: Iterable[T], key: Callable[[T], str]) -> dict[str, list[T]]:
    """In the order of first appearance, which is the order of time."""
    groups: dict[str, list[T]] = defaultdict(list)
    for noun in nouns:
        groups[key(noun)].append(noun)
    return dict(groups)


def artifacts_of(snapshot: Snapshot, query_ids: Collection[str] | None) -> list[PlanArtifact]:
    """The artifacts of some queries, or of all, read once. Once all were read, they serve whoever asks for some."""
    if query_ids is None:
        return snapshot.once(_ALL, lambda: snapshot.read(ARTIFACTS))
    if snapshot.has_made(_ALL):
        return [a for a in snapshot.once(_ALL, list[PlanArtifact]) if a.query_id in query_ids]
    key = f"{_ALL} of {' '.join(sorted(query_ids))}"
    return snapshot.once(key, lambda: snapshot.read(ARTIFACTS, query_id=query_ids))


def _saw_last(runs: Sequence[list[PlanArtifact]]) -> set[str]:
    """Of the runs before the newest one, those that were the last to see one of its tables."""
    left = {t.name for a in _last(runs) for t in a.tables}
    found = set()
    for run in reversed(runs[:-1]):
        seen = left & {t.name for a in run for t in a.tables}
        if seen:
            found |= {a.observation_id for a in run}
            left -= seen
    return found


def _last(runs: Iterable[list[PlanArtifact]]) -> list[PlanArtifact]:
    found = list(runs)
    return found[-1] if found else []
