"""Readiness: is the table itself in the way? Looks at each table that changed, and proposes layouts worth a trial.

It reads logs and a few data files. It starts no Spark and writes to no table of the user.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from planopt_assets.delta.damages import VERIFIED_BYTES
from planopt_assets.delta.log_files import LogFiles
from planopt_assets.delta.table_log import read_table_log
from planopt_assets.delta.table_sample import table_sample
from planopt_assets.engine.delta.protocol import readable, writable
from planopt_assets.errors import TableUnreachable, TableUnreadable
from planopt_assets.loop.run import Run, StageResult
from planopt_assets.loop.table_standing import STAGE, TableStanding, tables_of
from planopt_assets.maintain.again import is_indexed, is_laid_out, proposed_again, with_lost_index
from planopt_assets.maintain.growth import growth
from planopt_assets.maintain.index import index_proposal
from planopt_assets.maintain.markdown import markdown, numbers
from planopt_assets.maintain.propose import filter_columns, layout_proposals
from planopt_assets.maintain.readiness import table_readiness, unreadable
from planopt_assets.maintain.subject import Subject
from planopt_assets.maintain.table_use import table_use, used_columns
from planopt_assets.maintain.writes import writes
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.model.records import Edge
from planopt_assets.model.table_readiness import TableReadiness
from planopt_assets.store.codecs.deciding import EDGES
from planopt_assets.store.codecs.maintaining import PROPOSALS, READINESS
from planopt_assets.store.codecs.observing import DETAILS, SCANS
from planopt_assets.store.lineage import edges

if TYPE_CHECKING:
    from datetime import datetime

    from planopt_assets.model.data_file import TableLog
    from planopt_assets.model.scan_record import ScanRecord
    from planopt_assets.model.table_facts import TableFacts
    from planopt_assets.model.workload import Workload
    from planopt_assets.store.snapshot import Snapshot


def readiness(run: Run, tables: Sequence[str]) -> list[StageResult]:
    """One readiness row for each of these tables that changed, with its proposals. Others cost a listing of the log."""
    run.store.refresh()
    standings = tables_of(run)
    found: list[TableReadiness] = []
    proposed: list[LayoutProposal] = []
    lineage: list[Edge] = []
    results = []
    for name in tables:
        standing = standings.get(name)
        if standing is None or not standing.step.needed:
            results.append(_nothing_to_do(name, standing))
            continue
        seen, proposals = look_at(run.workload, run.snapshot, standing, now=run.now())
        found.append(seen)
        proposed += proposals
        for proposal in proposals:
            lineage += edges("", STAGE, proposal.id, proposal.evidence_ids)
        results.append(_result(seen, proposals))
        run.progress(STAGE, name, results[-1].summary)
    run.append(STAGE, {EDGES: lineage, PROPOSALS: proposed, READINESS: found})
    return results


def look_at(
    workload: Workload,
    snapshot: Snapshot,
    standing: TableStanding,
    *,
    now: datetime,
    most_bytes: int | None = VERIFIED_BYTES,
) -> tuple[TableReadiness, tuple[LayoutProposal, ...]]:
    """Readiness and proposals of one table as it is pinned; a table that cannot be read has readiness alone.

    Of its data files up to `most_bytes` are verified; None: all of them.
    """
    facts, before, now_ms = standing.facts, standing.readiness, round(now.timestamp() * 1000)
    if facts is None:
        error = standing.error
        assert error is not None
        return _unreadable(standing, error), ()
    try:
        log = read_table_log(facts, most_bytes=most_bytes)
    except TableUnreadable as error:
        return _unreadable(standing, error), ()
    ids = {a.observation_id for a in standing.observations}
    scans = snapshot.read(SCANS, observation_id=ids) if ids else []
    cores = _cores(snapshot, ids)
    readiness = table_readiness(
        facts,
        log,
        uses=used_columns(facts, scans),
        read_by=standing.read_by,
        cores=cores,
        now_ms=now_ms,
        pinned=[t.version for a in standing.observations for t in a.tables if t.name == facts.name],
        unknown_reader_features=readable(facts),
        unknown_writer_features=writable(facts),
        before=before,
    )
    readiness = replace(readiness, input_fingerprint=standing.input_fingerprint)
    if workload.mode == "observe" or not readiness.ready or readiness.unknown_writer_features:
        return readiness, ()  # a table that is damaged, or that planopt may never write, is not laid out anew
    try:
        subject = _subject(workload, facts, log, scans, cores, now_ms)
    except TableUnreadable as error:
        return _unreadable(standing, error), ()
    subject = replace(subject, laid_out=is_laid_out(standing.actions))
    actions = standing.actions
    found = [proposed_again(p, actions, standing.verdicts) for p in layout_proposals(subject)]
    proposals = [with_lost_index(p, actions) for p in found]
    index = index_proposal(subject) if workload.table(facts.name).index else None
    sorts = any(p.rewrites and p.columns for p in proposals)
    if index is not None and not sorts and not is_indexed(index, actions, standing.all_proposals):
        proposals.append(index)
    return readiness, tuple(proposals)


def _subject(
    workload: Workload, facts: TableFacts, log: TableLog, scans: Sequence[ScanRecord], cores: int, now_ms: int
) -> Subject:
    uses = table_use(facts, scans, {q.id: float(q.runs_per_day) for q in workload.queries})
    folder = LogFiles(facts.name, facts.location).folder
    sample = table_sample(folder, facts, log.files, filter_columns(uses))
    grown = growth(log.commits, len(log.files), now_ms=now_ms)
    tail = log.commits_since_checkpoint
    return Subject(facts, log.files, sample, uses, grown, cores, tail, writes=writes(log.commits))


def _cores(snapshot: Snapshot, observation_ids: set[str]) -> int:
    """Of the newest observation; 1 where nobody ever ran: then no query speaks for a proposal either."""
    details = snapshot.read(DETAILS, observation_id=observation_ids) if observation_ids else []
    known = [d.cores for d in details if d.cores is not None]
    return known[-1] if known else 1


def _unreadable(standing: TableStanding, error: TableUnreadable) -> TableReadiness:
    found = unreadable(standing.table, standing.location, error.what, error.fix, standing.read_by, standing.readiness)
    # Storage that did not answer says nothing about the table: the next run asks again.
    known = "" if isinstance(error, TableUnreachable) else standing.input_fingerprint
    return replace(found, input_fingerprint=known)


def _nothing_to_do(name: str, standing: TableStanding | None) -> StageResult:
    if standing is None:
        return StageResult(
            name, False, "it is known by its catalog alone: its place is known once a query was observed"
        )
    words = f"{STAGE}: {standing.step.why}"
    readiness = standing.readiness
    return StageResult(name, False, words, numbers(readiness, standing.proposals) if readiness else {})


def _result(readiness: TableReadiness, proposals: Sequence[LayoutProposal]) -> StageResult:
    said = [f.consequence for f in readiness.findings if f.severity != "note"]
    summary = "; ".join([*(p.describe() for p in proposals), *said[:2]]) or "ready"
    return StageResult(readiness.table, True, summary, numbers(readiness, proposals), markdown(readiness, proposals))
