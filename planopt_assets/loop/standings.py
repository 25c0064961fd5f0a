"""Where every query stands, from one snapshot of the store and the heads of the Delta logs. Never starts Spark.

Small tables are read whole. Of the large ones (decisions, counters, tables read) only what belongs to the current
inputs is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from planopt_assets.engine.delta.heads import heads
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
from planopt_assets.promote.suspension import suspension
from planopt_assets.replan.left_out import left_out, worth_leaving_out
from planopt_assets.store.codecs.deciding import CANDIDATES, DECISIONS, VERDICTS
from planopt_assets.store.codecs.maintaining import ACTIONS
from planopt_assets.store.codecs.observing import LAYOUTS
from planopt_assets.store.promotions import chains
from planopt_assets.store.tried import linked_promotions, table_bytes, tried_policies

if TYPE_CHECKING:
    from planopt_assets.engine.delta.pins import Pins
    from planopt_assets.model.candidate import Candidate
    from planopt_assets.model.decision import Decision
    from planopt_assets.model.maintenance_action import MaintenanceAction
    from planopt_assets.model.observation import PlanArtifact
    from planopt_assets.model.policy import Policy
    from planopt_assets.model.promotion import Chain
    from planopt_assets.model.stamp import Stamp
    from planopt_assets.model.table_record import ReadLayout
    from planopt_assets.model.verdict import Verdict
    from planopt_assets.model.workload import Query, Workload
    from planopt_assets.store.snapshot import Snapshot


def standings(
    workload: Workload,
    snapshot: Snapshot,
    sources: Mapping[str, QuerySource],
    pins: Pins,
    query_ids: Collection[str] | None = None,
    *,
    at: int = 0,
) -> dict[str, Standing]:
    """Some queries of the workload, or all; `sources` holds what defines each (SQL, or the source of modules).

    `at` is in seconds since 1970: only whether a confirmation is due depends on it.
    """
    asked = [q for q in workload.queries if query_ids is None or q.id in query_ids]
    ids = None if query_ids is None else {q.id for q in asked}
    artifacts = grouped(artifacts_of(snapshot, ids), lambda a: a.query_id)
    candidates = grouped(snapshot.read(CANDIDATES, query_id=ids), lambda c: c.query_id)
    gone, java = gone_tables(workload, pins), java_release()
    inputs = {
        q.id: inputs_now(
            workload, q, sources[q.id], artifacts.get(q.id, []), candidates.get(q.id, []), pins, gone, java
        )
        for q in asked
    }
    current = {i.fingerprint for i in inputs.values() if i.fingerprint is not None}
    decisions = grouped(snapshot.read(DECISIONS, input_fingerprint=current, query_id=ids), lambda d: d.query_id)
    verdicts = grouped(snapshot.read(VERDICTS, query_id=ids), lambda v: v.query_id)
    chain_of = chains(snapshot, ids)
    observed = {a.observation_id for i in inputs.values() for a in i.artifacts}
    weights = table_bytes(snapshot, observed)
    tables = _tables(snapshot, {i.artifacts[0].observation_id for i in inputs.values() if i.artifacts})
    rewritten = _rewritten(snapshot)
    tried = tried_policies(snapshot, ids)
    linked = linked_promotions(snapshot) if chain_of.whole else frozenset()
    watch = Watch(snapshot, chain_of.whole, verdicts, artifacts)
    found = {}
    for query in asked:
        now, chain = inputs[query.id], chain_of.whole.get(query.id, ())
        suspended = _suspended(workload, chain, pins)
        decided = _rounds([d for d in decisions.get(query.id, []) if d.input_fingerprint == now.fingerprint])
        all_candidates, all_verdicts = candidates.get(query.id, []), verdicts.get(query.id, [])
        found[query.id] = Standing(
            query_id=query.id,
            query_fingerprint=now.query_fingerprint,
            input_fingerprint=now.fingerprint,
            mode=workload.mode,
            artifacts=now.artifacts,
            decisions=decided,
            candidates=_newest_each((c.id, c) for c in all_candidates if c.input_fingerprint == now.fingerprint),
            verdicts=_newest_each((v.candidate_id, v) for v in all_verdicts if _tried_on(v, now.fingerprint)),
            chain=chain,
            promoted_by=next((v for v in all_verdicts if chain and v.id == chain[-1].verdict_id), None),
            carried=_carried(decided, all_verdicts, now.fingerprint),
            past_verdicts=inherited(all_verdicts, query, sources[query.id], artifacts.get(query.id, []), now.artifacts),
            canonical_fingerprint=canonical_identity(now.artifacts),
            context_hash=_context(workload, query, now, tables, rewritten),
            input_bytes=_total([weights.get(a.observation_id) for a in now.artifacts]),
            sizes={t.table: t.bytes for t in _first_seen(now, tables)},
            similar_within=workload.similar_within,
            suspended=suspended,
            missing=now.missing,
            changes=now.changes,
            due=watch.due(query.id),
            unlinked=any(p.id not in linked for p in chain),
            broken=chain_of.broken.get(query.id),
            limits=workload.knobs,
            policies=lifecycles(all_candidates, tried.get(query.id, frozenset()), all_verdicts, chain, suspended),
            confirmation=watch.confirmation(query.id),
            in_force_as=next((c for c in all_candidates if chain and c.id == chain[-1].candidate_id), None),
            without_a_part=_without_a_part(query, chain, all_candidates),
            at=at,
            explores=workload.budgets.explore > 0,
            ended_session=any(ended_session(a) for a in artifacts.get(query.id, [])[-1:]),
        )
    return found


Cause = Literal["definition", "tables", "other"]
"""`definition`: new, or its text or parameters changed. `other`: settings, versions, or it failed before."""


@dataclass(frozen=True, slots=True)
class InputsNow:
    """What a query reads now, and what was observed of exactly that."""

    query_fingerprint: str
    fingerprint: str | None
    read: tuple[PinnedTable, ...] | None
    artifacts: Sequence[PlanArtifact]
    changes: tuple[str, ...]
    missing: TableUnreadable | None
    cause: Cause  # of what was not observed yet


def inputs_now(
    workload: Workload,
    query: Query,
    source: QuerySource,
    artifacts: Sequence[PlanArtifact],
    candidates: Sequence[Candidate],
    pins: Pins,
    gone: Mapping[str, TableUnreadable],
    java: str | None,
) -> InputsNow:
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
    changes, cause = _changes(artifacts, known, read)
    return InputsNow(own, fingerprint, read, seen, () if seen else changes, missing, cause)


def gone_tables(workload: Workload, pins: Pins) -> dict[str, TableUnreadable]:
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


def _context(
    workload: Workload,
    query: Query,
    now: InputsNow,
    tables: Mapping[str, Sequence[ReadLayout]],
    rewritten: Mapping[str, Sequence[MaintenanceAction]],
) -> str | None:
    """Verdicts count as long as it stays the same. One from before planopt put a new layout on a table does not."""
    if not now.artifacts or now.read is None or now.artifacts[0].contract_hash is None:
        return None
    first = now.artifacts[0]
    layout = {t.table: dict(t.layout or {}) for t in _first_seen(now, tables)}
    for table in now.read:
        done = [a.id for a in rewritten.get(table.name, ()) if (a.version_after or 0) <= table.version]
        if done:
            layout.setdefault(table.name, {})["laid out by"] = done[-1]
    return context_hash(
        workload,
        query,
        now.read,
        now.artifacts[0].contract_hash,
        contract(workload.master),
        engine=first.engine,
        layouts=layout or None,
    )


def _rewritten(snapshot: Snapshot) -> dict[str, list[MaintenanceAction]]:
    """Every layout that planopt put on a table or took back, by table, oldest first."""
    changed = [a for a in snapshot.read(ACTIONS) if a.status in ("applied", "undone") and a.action != "vacuum"]
    return grouped(changed, lambda a: a.table)


def _tables(snapshot: Snapshot, observation_ids: Collection[str]) -> dict[str, list[ReadLayout]]:
    """Of each observation, how its tables were laid out and how large they were."""
    return grouped(snapshot.read(LAYOUTS, observation_id=observation_ids), lambda t: t.observation_id)


def _first_seen(now: InputsNow, tables: Mapping[str, Sequence[ReadLayout]]) -> Sequence[ReadLayout]:
    """All bindings of an observation read the same tables."""
    return tables.get(now.artifacts[0].observation_id, ()) if now.artifacts else ()


def _suspended(workload: Workload, chain: Chain, pins: Pins) -> str:
    """Why the policy in force is not applied to the tables as they are. Of one that cannot be read others tell."""
    try:
        return suspension(chain, heads(workload.tables, chain, pins), workload.similar_within)
    except TableUnreadable:
        return ""


def _without_a_part(query: Query, chain: Chain, candidates: Sequence[Candidate]) -> tuple[Policy, ...]:
    """The policy in force without each of the proposals in it, on whatever inputs they were planned.

    What is added to a policy that was carried over is planned on other inputs than that policy was.
    """
    whole = next((c for c in candidates if chain and c.id == chain[-1].candidate_id), None)
    if whole is None or not worth_leaving_out(query.runs_per_day):
        return ()
    return left_out(whole.policy, [c.policy for c in candidates])


def _tried_on(verdict: Verdict, inputs: str | None) -> bool:
    """Whether a verdict answers what to put in force on these inputs."""
    return verdict.input_fingerprint == inputs and not verdict.confirms


def _rounds(decisions: Sequence[Decision]) -> list[Decision]:
    """Of each policy that the rules were asked about, the last answers; the rounds in the order they were first asked.

    Original is asked first, then what was accepted. Options are explored one after the other, so all of them stay.
    """
    found: list[Decision] = []
    for asked in grouped(decisions, lambda d: d.policy_before.id).values():
        ruled, explored = [d for d in asked if not d.explores], {d.id: d for d in asked if d.explores}
        found += [*_last_run(ruled), *explored.values()]
    return found


def _carried(decisions: Sequence[Decision], verdicts: Sequence[Verdict], inputs: str | None) -> list[Verdict]:
    """Accepted verdicts on similar inputs that these decisions rely on."""
    named = {row_id for d in decisions for row_id in d.evidence_ids}
    return [v for v in verdicts if v.id in named and v.accepted and v.input_fingerprint != inputs]


def _changes(
    artifacts: Sequence[PlanArtifact], known: Sequence[PlanArtifact], read: tuple[PinnedTable, ...] | None
) -> tuple[tuple[str, ...], Cause]:
    """What is not as it was when the query was last observed, in words and by its kind."""
    if not artifacts:
        return (), "definition"
    if not known:
        text = "its modules or its parameters" if artifacts[-1].source == "dataframe" else "its text or its parameters"
        return (text,), "definition"
    if read is None:
        return ("a table that cannot be read now",), "tables"
    before = {t.name: t for t in known[-1].tables}
    moved = tuple(words for t in read if (words := _moved(before[t.name], t)))
    if moved:
        return moved, "tables"
    return ("settings, budgets or versions of Java, Spark, Delta or planopt",), "other"


def _moved(before: PinnedTable, now: PinnedTable) -> str:
    if now.table_id != before.table_id:
        return f"{now.name} is another table"
    if now.version != before.version:
        layout = ", a new layout of the same rows" if now.same_rows(before) else ""
        return f"{now.name} v{before.version} -> v{now.version}{layout}"
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
