"""Where every query stands, from one snapshot of the store and the heads of the Delta logs. Never starts Spark.

Small tables are read whole. Of the large ones (decisions, counters, tables read) only what belongs to the current
inputs is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from planopt_assets.engine.sessions.java import java_release
from planopt_assets.errors import TableUnreadable
from planopt_assets.loop.histories import artifacts_of, grouped
from planopt_assets.loop.older_rows import inherited, older_definition, seen_by_older_planopt
from planopt_assets.loop.spelling import canonical_identity, earlier_spelling
from planopt_assets.loop.standing import Standing, ended_session
from planopt_assets.loop.versions import contract
from planopt_assets.loop.watching import Watch
from planopt_assets.model.inputs import (
    PinnedTable,
    QuerySource,
    context_hash,
    input_fingerprint,
    older_input_fingerprint,
    query_fingerprint,
)
from planopt_assets.observe.sql.named_tables import named_tables
from planopt_assets.promote.lifecycle import lifecycles
from planopt_assets.store.codecs.deciding import CANDIDATES, DECISIONS, VERDICTS
from planopt_assets.store.codecs.observing import LAYOUTS
from planopt_assets.store.promotions import chains
from planopt_assets.store.tried import linked_promotions, table_bytes, tried_policies

if TYPE_CHECKING:
    from planopt_assets.engine.delta.pins import Pins
    from planopt_assets.model.candidate import Candidate
    from planopt_assets.model.decision import Decision
    from planopt_assets.model.observation import PlanArtifact
    from planopt_assets.model.stamp import Stamp
    from planopt_assets.model.table_layout import Layout
    from planopt_assets.model.verdict import Verdict
    from planopt_assets.model.workload import Query, Workload
    from planopt_assets.store.snapshot import Snapshot


def standings(
    workload: Workload,
    snapshot: Snapshot,
    sources: Mapping[str, QuerySource],
    pins: Pins,
    query_ids: Collection[str] | None = None,
) -> dict[str, Standing]:
    """Some queries of the workload, or all; `sources` holds what defines each (SQL, or the source of modules)."""
    asked = [q for q in workload.queries if query_ids is None or q.id in query_ids]
    ids = None if query_ids is None else {q.id for q in asked}
    artifacts = grouped(artifacts_of(snapshot, ids), lambda a: a.query_id)
    candidates = grouped(snapshot.read(CANDIDATES, query_id=ids), lambda c: c.query_id)
    gone, java = _gone(workload, pins), java_release()
    inputs = {
        q.id: _inputs(workload, q, sources[q.id], artifacts.get(q.id, []), candidates.get(q.id, []), pins, gone, java)
        for q in asked
    }
    current = {i.fingerprint for i in inputs.values() if i.fingerprint is not None}
    decisions = grouped(snapshot.read(DECISIONS, input_fingerprint=current, query_id=ids), lambda d: d.query_id)
    verdicts = grouped(snapshot.read(VERDICTS, query_id=ids), lambda v: v.query_id)
    chain_of = chains(snapshot, ids)
    observed = {a.observation_id for i in inputs.values() for a in i.artifacts}
    weights = table_bytes(snapshot, observed)
    layouts = _layouts(snapshot, {i.artifacts[0].observation_id for i in inputs.values() if i.artifacts})
    tried = tried_policies(snapshot, ids)
    linked = linked_promotions(snapshot) if chain_of.whole else frozenset()
    watch = Watch(snapshot, chain_of.whole, verdicts, artifacts)
    found = {}
    for query in asked:
        now, chain = inputs[query.id], chain_of.whole.get(query.id, ())
        decided = _last_run([d for d in decisions.get(query.id, []) if d.input_fingerprint == now.fingerprint])
        all_candidates, all_verdicts = candidates.get(query.id, []), verdicts.get(query.id, [])
        found[query.id] = Standing(
            query_id=query.id,
            query_fingerprint=now.query_fingerprint,
            input_fingerprint=now.fingerprint,
            mode=workload.mode,
            artifacts=now.artifacts,
            decisions=decided,
            candidates=_newest_each((c.id, c) for c in all_candidates if c.input_fingerprint == now.fingerprint),
            verdicts=_newest_each((v.candidate_id, v) for v in all_verdicts if v.input_fingerprint == now.fingerprint),
            chain=chain,
            promoted_by=next((v for v in all_verdicts if chain and v.id == chain[-1].verdict_id), None),
            carried=_carried(decided, all_verdicts),
            past_verdicts=inherited(all_verdicts, query, sources[query.id], artifacts.get(query.id, []), now.artifacts),
            canonical_fingerprint=canonical_identity(now.artifacts),
            context_hash=_context(workload, query, now, layouts),
            input_bytes=_total([weights.get(a.observation_id) for a in now.artifacts]),
            missing=now.missing,
            changes=now.changes,
            due=watch.due(query.id, now.fingerprint),
            unlinked=any(p.id not in linked for p in chain),
            broken=chain_of.broken.get(query.id),
            limits=workload.knobs,
            policies=lifecycles(all_candidates, tried.get(query.id, frozenset()), all_verdicts, chain),
            ended_session=any(ended_session(a) for a in artifacts.get(query.id, [])[-1:]),
        )
    return found


@dataclass(frozen=True, slots=True)
class _Inputs:
    """What a query reads now, and what was observed of exactly that."""

    query_fingerprint: str
    fingerprint: str | None
    read: tuple[PinnedTable, ...] | None
    artifacts: Sequence[PlanArtifact]
    changes: tuple[str, ...]
    missing: TableUnreadable | None


def _inputs(
    workload: Workload,
    query: Query,
    source: QuerySource,
    artifacts: Sequence[PlanArtifact],
    candidates: Sequence[Candidate],
    pins: Pins,
    gone: Mapping[str, TableUnreadable],
    java: str | None,
) -> _Inputs:
    own = query_fingerprint(query, source)
    older = older_definition(query, source, artifacts)
    spelling = older or _spelling(workload, query, own, artifacts, candidates, pins)
    known = [a for a in artifacts if a.query_fingerprint == spelling]
    read = _tables_now(workload, known, pins)
    fingerprint = _current_inputs(workload, query, spelling, known, read, java)
    # The last run that saw these inputs speaks; an older one of the same inputs may have been cut short.
    seen = _last_run([a for a in known if a.input_fingerprint == fingerprint])
    settled = seen and not any(a.status == "failed" for a in seen)
    missing = None if settled or not gone else _missing(query, known, gone)
    return _Inputs(own, fingerprint, read, seen, () if seen else _changes(artifacts, known, read), missing)


def _gone(workload: Workload, pins: Pins) -> dict[str, TableUnreadable]:
    """The registered tables whose folder is missing, by name in lower case."""
    return {t.name.lower(): error for t in workload.tables if t.path and (error := pins.missing(t.name, t.path))}


def _missing(
    query: Query, known: Sequence[PlanArtifact], gone: Mapping[str, TableUnreadable]
) -> TableUnreadable | None:
    """A missing table that the query surely reads: by its last observation, or by its text."""
    captured = next((a for a in reversed(known) if a.captured), None)
    read = {t.name.lower() for t in captured.tables} if captured else named_tables(query.sql or "")
    return next((error for name, error in gone.items() if name in read), None)


def _spelling(
    workload: Workload,
    query: Query,
    fingerprint: str,
    artifacts: Sequence[PlanArtifact],
    candidates: Sequence[Candidate],
    pins: Pins,
) -> str:
    """The fingerprint this query is known by: its own, or that of the same query in an earlier spelling.

    A hint names an input by its alias, which may be what was changed: there the text counts as it is written.
    """
    if not artifacts or any(a.query_fingerprint == fingerprint for a in artifacts):
        return fingerprint
    if any(c.policy.hints for c in candidates):
        return fingerprint
    return earlier_spelling(workload, query, artifacts, pins) or fingerprint


def _tables_now(workload: Workload, known: Sequence[PlanArtifact], pins: Pins) -> tuple[PinnedTable, ...] | None:
    """The tables this query read last time, as they are now; None where one cannot be read or nothing is known."""
    if not known:
        return None
    declared = {t.name: t.path for t in workload.tables}
    try:
        return tuple(pins.pin(t.name, declared.get(t.name) or t.location) for t in known[-1].tables)
    except TableUnreadable:
        return None  # it was there before: looking again will say what is wrong with it


def _current_inputs(
    workload: Workload,
    query: Query,
    spelling: str,
    known: Sequence[PlanArtifact],
    read: tuple[PinnedTable, ...] | None,
    java: str | None,
) -> str | None:
    """Where no Java is at hand, such as where somebody only reads, it is taken to be that of the last observation."""
    if read is None:
        return None
    last, versions = known[-1], contract(workload.master)
    older = older_input_fingerprint(workload, query, spelling, read, versions, captured=last.captured)
    if seen_by_older_planopt(known, older, java):
        return older
    return input_fingerprint(workload, query, spelling, read, versions, captured=last.captured, java=java or last.java)


def _context(workload: Workload, query: Query, now: _Inputs, layouts: Mapping[str, Mapping[str, Layout]]) -> str | None:
    if not now.artifacts or now.read is None or now.artifacts[0].contract_hash is None:
        return None
    first = now.artifacts[0]
    return context_hash(
        workload,
        query,
        now.read,
        now.artifacts[0].contract_hash,
        contract(workload.master),
        engine=first.engine,
        layouts=layouts.get(first.observation_id),
    )


def _layouts(snapshot: Snapshot, observation_ids: Collection[str]) -> dict[str, dict[str, Layout]]:
    """Of each observation, how its tables were laid out."""
    found: dict[str, dict[str, Layout]] = {}
    for table in snapshot.read(LAYOUTS, observation_id=observation_ids):
        found.setdefault(table.observation_id, {})[table.table] = table.layout or {}
    return found


def _carried(decisions: Sequence[Decision], verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Accepted verdicts on similar inputs that these decisions rely on."""
    named = {row_id for d in decisions for row_id in d.evidence_ids}
    return [v for v in verdicts if v.id in named and v.accepted]


def _changes(
    artifacts: Sequence[PlanArtifact], known: Sequence[PlanArtifact], read: tuple[PinnedTable, ...] | None
) -> tuple[str, ...]:
    """What is not as it was when the query was last observed."""
    if not artifacts:
        return ()
    if not known:
        return (
            "its modules or its parameters" if artifacts[-1].source == "dataframe" else "its text or its parameters",
        )
    if read is None:
        return ("a table that cannot be read now",)
    before = {t.name: t for t in known[-1].tables}
    moved = tuple(words for t in read if (words := _moved(before[t.name], t)))
    return moved or ("settings, budgets or versions of Java, Spark, Delta or planopt",)


def _moved(before: PinnedTable, now: PinnedTable) -> str:
    if now.table_id != before.table_id:
        return f"{now.name} is another table"
    if now.version != before.version:
        return f"{now.name} v{before.version} -> v{now.version}"
    diverged = None not in (before.head, now.head) and before.head != now.head
    return f"{now.name} is another copy of the table: its v{now.version} has another commit" if diverged else ""


class _Stamped(Protocol):
    @property
    def stamp(self) -> Stamp: ...


S = TypeVar("S", bound=_Stamped)
T = TypeVar("T")


def _last_run(nouns: Sequence[S]) -> list[S]:
    return [n for n in nouns if n.stamp.run_id == nouns[-1].stamp.run_id]


def _newest_each(nouns: Iterable[tuple[str, T]]) -> list[T]:
    """The last word on each candidate; a later pass adds candidates, it does not take back the ones before."""
    return list(dict(nouns).values())


def _total(values: Sequence[int | None]) -> int | None:
    known = [v for v in values if v is not None]
    return sum(known) if values and len(known) == len(values) else None
