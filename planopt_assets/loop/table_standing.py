"""Where every registered table stands: what is stored of exactly its current version and its current queries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt_assets.errors import TableUnreadable
from planopt_assets.loop.histories import artifacts_of, grouped
from planopt_assets.loop.step import UNCHANGED, Step
from planopt_assets.maintain.readiness import READINESS_VERSION
from planopt_assets.model.ids import content_id
from planopt_assets.store.codecs.maintaining import ACTIONS, LAYOUT_VERDICTS, PROPOSALS, READINESS

if TYPE_CHECKING:
    from planopt_assets.engine.delta.pins import Pins
    from planopt_assets.loop.run import Run
    from planopt_assets.model.layout_proposal import LayoutProposal
    from planopt_assets.model.layout_verdict import LayoutVerdict
    from planopt_assets.model.maintenance_action import MaintenanceAction
    from planopt_assets.model.observation import PlanArtifact
    from planopt_assets.model.table_facts import TableFacts
    from planopt_assets.model.table_readiness import TableReadiness
    from planopt_assets.model.workload import Table, Workload
    from planopt_assets.store.snapshot import Snapshot

STAGE = "readiness"


@dataclass(frozen=True, slots=True)
class TableStanding:
    """One table: its facts now, or why it cannot be read, and what is stored of it."""

    table: str
    location: str
    facts: TableFacts | None
    error: TableUnreadable | None
    observations: tuple[PlanArtifact, ...]  # the newest of each query that reads it
    input_fingerprint: str
    history: tuple[TableReadiness, ...] = ()  # oldest first
    all_proposals: tuple[LayoutProposal, ...] = ()
    verdicts: tuple[LayoutVerdict, ...] = ()
    actions: tuple[MaintenanceAction, ...] = ()

    @property
    def readiness(self) -> TableReadiness | None:
        """What was last found, whatever the inputs were."""
        return self.history[-1] if self.history else None

    @property
    def settled(self) -> bool:
        """Whether the last look saw exactly these inputs."""
        return self.readiness is not None and self.readiness.input_fingerprint == self.input_fingerprint

    @property
    def proposals(self) -> tuple[LayoutProposal, ...]:
        """Those of the last look that were not applied; a checkpoint leaves the version, so nobody looks again.

        Layouts are alternatives: once one is on the table, the others were made for a table that is no more.
        """
        done = {a.proposal_id for a in self.actions if a.applied}
        made = of_last_look(self.all_proposals, self.history)
        laid_out = {(p.table_id, p.version) for p in made if p.id in done and p.needs_proof}
        left = [p for p in made if p.id not in done]
        return tuple(p for p in left if not p.needs_proof or (p.table_id, p.version) not in laid_out)

    def open_proposals(self, *, index: bool) -> list[LayoutProposal]:
        """Those for the table as it is now, the largest saving first; bloom filters only where `index` allows them."""
        if self.facts is None:
            return []
        of_now = (self.facts.table_id, self.facts.version)
        allowed = [p for p in self.proposals if index or p.action != "bloom"]
        now = {p.id: p for p in allowed if (p.table_id, p.version) == of_now}.values()
        return sorted(now, key=lambda p: (-p.saving_cpu_ns_per_day, p.id))

    @property
    def read_by(self) -> tuple[str, ...]:
        return tuple(sorted({a.query_id for a in self.observations}))

    @property
    def step(self) -> Step:
        """What the stage `readiness` has to do for it, and why."""
        if self.settled:
            return Step(STAGE, "done", UNCHANGED)
        if self.readiness is None:
            return Step(STAGE, "needed", "never looked at")
        if self.error is not None:
            return Step(STAGE, "needed", f"it cannot be read: {self.error}")
        assert self.facts is not None
        if self.facts.version != self.readiness.version:
            return Step(STAGE, "needed", f"v{self.readiness.version} -> v{self.facts.version}")
        return Step(STAGE, "needed", "its queries, or the table itself, changed")


def of_last_look(proposals: Sequence[LayoutProposal], looks: Sequence[TableReadiness]) -> list[LayoutProposal]:
    """Without what an earlier look has proposed and the last one has not. A look and its proposals are of one run."""
    earlier = {look.stamp.run_id for look in looks} - {look.stamp.run_id for look in looks[-1:]}
    return [p for p in proposals if p.stamp.run_id not in earlier]


def asked_tables(
    standings: Mapping[str, TableStanding], query_ids: Iterable[str], named: Collection[str]
) -> list[TableStanding]:
    """The tables of a run over these queries: if a person `named` them, those that they read.

    Else all tables, also those that no query was seen to read.
    """
    asked = set(query_ids)
    return [t for t in standings.values() if not named or asked & set(t.read_by)]


def table_standings(workload: Workload, snapshot: Snapshot, pins: Pins) -> dict[str, TableStanding]:
    """All tables with a path; one that is known by Spark's catalog alone cannot be found without Spark."""
    newest = newest_observations(workload, snapshot)
    history = grouped(snapshot.read(READINESS), lambda r: r.table)
    proposals = grouped(snapshot.read(PROPOSALS), lambda p: p.table)
    verdicts = grouped(snapshot.read(LAYOUT_VERDICTS), lambda v: v.table)
    actions = grouped(snapshot.read(ACTIONS), lambda a: a.table)
    found = {}
    for table in workload.tables:
        location = _location(table, newest)
        if location is None:
            continue
        facts, error = _facts(pins, table, location)
        readers = tuple(a for a in newest if any(t.name == table.name for t in a.tables))
        found[table.name] = TableStanding(
            table.name,
            location,
            facts,
            error,
            readers,
            _fingerprint(workload, table, facts, error, readers),
            tuple(history.get(table.name, ())),
            tuple(proposals.get(table.name, ())),
            tuple(verdicts.get(table.name, ())),
            tuple(actions.get(table.name, ())),
        )
    return found


def tables_of(run: Run) -> dict[str, TableStanding]:
    """The standings of a run's tables: computed once, until something is written."""
    snapshot = run.snapshot
    return snapshot.once("table_standings", lambda: table_standings(run.workload, snapshot, run.workspace.pins))


def newest_observations(workload: Workload, snapshot: Snapshot) -> list[PlanArtifact]:
    """Of each query of the workload, all bindings of the last run that captured it."""
    known = {q.id for q in workload.queries}
    captured = [a for a in artifacts_of(snapshot, None) if a.query_id in known and a.status == "captured"]
    last = {a.query_id: a.stamp.run_id for a in captured}
    return [a for a in captured if a.stamp.run_id == last[a.query_id]]


def _location(table: Table, observed: Sequence[PlanArtifact]) -> str | None:
    """A table of Spark's catalog is where an observation found it."""
    if table.path is not None:
        return table.path
    return next((t.location for a in reversed(observed) for t in a.tables if t.name == table.name), None)


def _facts(pins: Pins, table: Table, location: str) -> tuple[TableFacts | None, TableUnreadable | None]:
    try:
        return pins.facts(table.name, location), None
    except TableUnreadable as error:
        return None, error


def _fingerprint(
    workload: Workload,
    table: Table,
    facts: TableFacts | None,
    error: TableUnreadable | None,
    readers: Sequence[PlanArtifact],
) -> str:
    """The hash of all that readiness and proposals are made of: the table, what each query was seen to read, and
    whether the workload file lets planopt propose at all, and indexes too."""
    rates: Mapping[str, float] = {q.id: float(q.runs_per_day) for q in workload.queries}
    return content_id(
        "tin",
        {
            "table": [table.name, facts.table_id, facts.version, facts.head]
            if facts
            else [table.name, error and error.code],
            "queries": sorted([a.query_id, a.binding, a.input_fingerprint, rates[a.query_id]] for a in readers),
            "master": workload.master,
            "proposes": [workload.mode != "observe", table.index],
            "readiness": READINESS_VERSION,
        },
    )
