"""The queries that read a table, from the newest observation of each, whatever version it saw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt_assets.loop.table_standing import newest_observations
from planopt_assets.loop.versions import contract
from planopt_assets.maintain.layout_memory import LayoutMemory, Reader, readers_hash
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.store.codecs.maintaining import ACTIONS, LAYOUT_VERDICTS, PROPOSALS

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing
    from planopt_assets.maintain.layout_memory import Remembered
    from planopt_assets.model.layout_proposal import LayoutProposal
    from planopt_assets.model.observation import PlanArtifact
    from planopt_assets.model.policy import Policy
    from planopt_assets.model.workload import Workload
    from planopt_assets.store.snapshot import Snapshot


NAMED = 5  # of the queries that are not asked


@dataclass(frozen=True, slots=True)
class Asked:
    """A query with what it was last seen to read."""

    standing: Standing
    artifacts: tuple[PlanArtifact, ...]  # by binding

    @property
    def query_id(self) -> str:
        return self.standing.query_id

    @property
    def tables(self) -> frozenset[str]:
        return frozenset(t.name for a in self.artifacts for t in a.tables)

    @property
    def policy(self) -> Policy:
        """What it runs under."""
        active = self.standing.active
        return active.policy if active and not self.standing.vetoed else ORIGINAL


@dataclass(frozen=True, slots=True)
class Readers:
    """Who can be asked about a layout, and who cannot, with the reason."""

    asked: tuple[Asked, ...]
    left_out: tuple[tuple[str, str], ...] = ()

    def of(self, tables: Iterable[str]) -> tuple[Asked, ...]:
        names = set(tables)
        return tuple(one for one in self.asked if one.tables & names)

    def not_asked(self) -> str:
        """For the reason of a verdict; empty if everybody was.

        >>> Readers((), (("q2", "never observed"),)).not_asked()
        '; not asked: q2 (never observed)'
        """
        said = ", ".join(f"{query} ({why})" for query, why in self.left_out[:NAMED])
        more = f" and {len(self.left_out) - NAMED:,} more" if len(self.left_out) > NAMED else ""
        return f"; not asked: {said}{more}" if said else ""


def readers_of(workload: Workload, snapshot: Snapshot, standings: Mapping[str, Standing]) -> Readers:
    """All queries of the workload. One that was not observed on this version is asked too: it may lose.

    Left out is who cannot run on the tables as they are, and who was never observed: nobody knows what it reads.
    """
    newest: dict[str, list[PlanArtifact]] = {}
    for artifact in newest_observations(workload, snapshot):
        newest.setdefault(artifact.query_id, []).append(artifact)
    asked, left_out = [], []
    for query in workload.queries:
        standing = standings[query.id]
        if why := _cannot_run(standing):
            left_out.append((query.id, why))
        elif standing.captured or query.id in newest:
            seen = standing.artifacts if standing.captured else newest[query.id]
            asked.append(Asked(standing, tuple(sorted(seen, key=lambda a: a.binding))))
        else:
            left_out.append((query.id, "never observed"))
    return Readers(tuple(asked), tuple(left_out))


def _cannot_run(standing: Standing) -> str:
    if standing.missing is not None:
        return "a table of it is missing"
    if standing.observed and not standing.captured:
        return "it failed or was refused when it was last observed"
    return ""


def memory_of(workload: Workload, snapshot: Snapshot, readers: Readers, table: str) -> LayoutMemory:
    """What is stored of a table's layouts, for its readers as they are now; read once per snapshot and table."""
    return snapshot.once(
        f"layout_memory:{table}",
        lambda: LayoutMemory(
            readers_word(workload, readers, table),
            {p.id: p for p in snapshot.read(PROPOSALS, table=table)},
            snapshot.read(LAYOUT_VERDICTS, table=table),
            snapshot.read(ACTIONS, table=table),
        ),
    )


def remembered_of(
    workload: Workload,
    snapshot: Snapshot,
    standings: Mapping[str, Standing],
    proposals: Sequence[LayoutProposal],
    *,
    by_hand: bool = False,
) -> dict[str, Remembered]:
    """What to do with these proposals, by id; only those that a trial has to prove.

    Nothing is told without the standings of all queries: who reads a table decides.
    """
    proven = [p for p in proposals if p.needs_proof]
    if not proven or any(q.id not in standings for q in workload.queries):
        return {}
    readers = snapshot.once("readers", lambda: readers_of(workload, snapshot, standings))
    return {p.id: memory_of(workload, snapshot, readers, p.table).of(p, by_hand=by_hand) for p in proven}


def readers_word(workload: Workload, readers: Readers, table: str) -> str:
    """The hash of who reads a table, how often, under which policies, and within which limits."""
    told = [_reader(workload, one) for one in readers.of([table])]
    versions = {name: contract(workload.master)[name] for name in ("cores", "spark", "delta", "judge")}
    limits = {
        "objective": workload.objective,
        "pay_back_days": float(workload.maintenance.pay_back_days),
        "features": sorted(workload.table(table).features),
        "master": workload.master,
        "settings": dict(workload.spark_settings),
        "pin": dict(workload.knobs.pin),
        "versions": versions,
    }
    return readers_hash(told, limits)


def _reader(workload: Workload, one: Asked) -> Reader:
    query = workload.query(one.query_id)
    return Reader(query.id, one.standing.query_fingerprint, query.runs_per_day, query.max_loss, one.policy.id)
