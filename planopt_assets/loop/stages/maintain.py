"""Maintain: try what is proposed, and put what is proven, or needs no proof, on tables that planopt may change."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from planopt_assets.engine.delta.clones import Clones
from planopt_assets.errors import LayoutNotTried, MaintenanceConflict, MaintenanceFailed, MaintenanceRefused
from planopt_assets.loop.maintaining.apply import apply_layout, recover
from planopt_assets.loop.maintaining.layout_trial import Tried, try_layouts
from planopt_assets.loop.maintaining.records import keep_trial
from planopt_assets.loop.run import Run, StageResult
from planopt_assets.maintain.again import is_laid_out
from planopt_assets.maintain.permission import for_a_person, may_not_write
from planopt_assets.store.codecs.maintaining import ACTIONS, LAYOUT_VERDICTS, PROPOSALS

if TYPE_CHECKING:
    from planopt_assets.model.layout_proposal import LayoutProposal
    from planopt_assets.model.layout_verdict import LayoutVerdict
    from planopt_assets.model.maintenance_action import MaintenanceAction

STAGE = "maintain"


def maintain(run: Run, tables: Sequence[str], *, who: str | None = None, apply: bool = True) -> list[StageResult]:
    """One result per table: what was tried, what it showed, and what was changed.

    Layouts of all these tables are tried together first: the best of each, then merging where sorting was the best. If
    neither is accepted, each is tried alone: one of them may be what the others suffer from.

    Automation (`who` is None) changes only tables with `maintain: auto`, in mode `auto`. A person gets errors;
    automation goes on with the next table.
    """
    Clones(run.workload.store).sweep()
    run.store.refresh()
    found = {table: _off(run, table, who) or _recovered(run, table) for table in tables}
    for together in _tried_together(run, [t for t in tables if found[t] is None]):
        if time.monotonic() < run.deadline:
            _try(run, together, who=who, keep=lambda tried: tried.accepted)
        if any(_accepts(run, p) for p in together):
            break
    return [found[table] or _whole(run, table, who=who, apply=apply) for table in tables]


def _tried_together(run: Run, tables: Sequence[str]) -> list[list[LayoutProposal]]:
    """One layout of each table that has none with a verdict: the best ones, then those that leave rows in their order.

    A single layout needs no trial together with others, and the same layouts no second one.
    """
    proposals = [open_proposals(run, table) for table in tables]
    untried = [found for found in proposals if found and all(_verdict_of(run, p) is None for p in found)]
    best = [found[0] for found in untried]
    merged = [next((p for p in found if p.action == "compact"), found[0]) for found in untried]
    return [chosen for chosen in ([best] if best == merged else [best, merged]) if len(chosen) > 1]


def _off(run: Run, table: str, who: str | None) -> StageResult | None:
    """Nobody asked for trials of this table: neither a person now, nor the workload file."""
    if who is None and run.workload.mode == "observe":
        return StageResult(table, False, "the workload's mode is observe: planopt only looks")
    if who is None and run.workload.table(table).maintain == "never":
        return StageResult(table, False, "`maintain` is never in the workload file: no layout of it is tried")
    return None


def _try(run: Run, proposals: Sequence[LayoutProposal], *, who: str | None, keep: Callable[[Tried], bool]) -> str:
    """Try layouts together and store what is to be kept; in words why they could not be tried."""
    for proposal in proposals:
        run.progress(STAGE, proposal.table, f"tries on a clone: {proposal.describe()}")
    try:
        tried = try_layouts(run, proposals)
    except (LayoutNotTried, MaintenanceFailed) as error:
        if who is not None and len(proposals) == 1:
            raise
        return f"not tried: {error}"
    if keep(tried):
        keep_trial(run, tried)
    for verdict in tried.verdicts:
        run.progress(STAGE, verdict.table, f"{verdict.outcome}: {verdict.reason}")
    return ""


def open_proposals(run: Run, table: str, *, proven: bool = True) -> list[LayoutProposal]:
    """What is proposed for the table as it is now, the largest saving first: what a trial has to prove, or the rest."""
    pinned = next((t for t in run.workspace.tables if t.name == table), None)
    if pinned is None:
        return []
    found = {p.id: p for p in run.snapshot.read(PROPOSALS, table=table)}
    of_now = (pinned.table_id, pinned.version)
    now = [p for p in found.values() if p.needs_proof == proven and (p.table_id, p.version) == of_now]
    return sorted(now, key=lambda p: (-p.saving_cpu_ns_per_day, p.id))


def _recovered(run: Run, table: str) -> StageResult | None:
    for proposal in _unfinished(run, table):
        if done := recover(run, proposal):
            return _result(table, done.reason, action=done)
    return None


def _whole(run: Run, table: str, *, who: str | None, apply: bool) -> StageResult:
    """The layout, then what concerns the log and the properties alone; properties only where they keep a layout."""
    result = _table(run, table, who=who, apply=apply)
    actions = run.snapshot.read(ACTIONS, table=table)
    done = {a.proposal_id for a in actions if a.applied}
    left = [p for p in open_proposals(run, table, proven=False) if p.id not in done]
    due = [p for p in left if p.action != "properties" or is_laid_out(actions)]
    if due and not apply:
        words = "; ".join(p.describe() for p in due)
        return replace(result, summary=f"{result.summary}; proposed, and in need of no trial: {words}")
    for proposal in due:
        action, words = _apply(run, proposal, who=who)
        words = f"applied: {proposal.describe()}" if action else f"{proposal.describe()}: {words}"
        result = replace(result, changed=result.changed or action is not None, summary=f"{result.summary}; {words}")
    return result


def _apply(run: Run, proposal: LayoutProposal, *, who: str | None) -> tuple[MaintenanceAction | None, str]:
    """Change the table, if automation may or a person asks; else why not. A person gets the error."""
    if who is None:
        declared = run.workload.table(proposal.table)
        why, fix = may_not_write(declared, run.workload.mode, by_hand=False, unknown_features=())
        if why := why or for_a_person(proposal.action):
            return None, f"not applied: {why} ({fix or f'planopt maintain {proposal.table} --apply'})"
    run.progress(STAGE, proposal.table, f"applies: {proposal.describe()}")
    try:
        return apply_layout(run, proposal, who=who), ""
    except (MaintenanceRefused, MaintenanceConflict, MaintenanceFailed) as error:
        if who is not None:
            raise
        return None, f"not applied: {error}"


def _table(run: Run, table: str, *, who: str | None, apply: bool) -> StageResult:
    proposals = open_proposals(run, table)
    if not proposals:
        return StageResult(table, False, "no layout is proposed for the table as it is")
    words, verdict = "", None
    for proposal in sorted(proposals, key=lambda p: not _accepts(run, p)):  # what was accepted needs no rival
        if _verdict_of(run, proposal) is None:
            if time.monotonic() >= run.deadline:
                return StageResult(table, False, "the run's budget is spent: left for the next run")
            words = _try(run, [proposal], who=who, keep=lambda tried: True)
        verdict = _verdict_of(run, proposal)
        if verdict is None:
            continue
        words = f"{verdict.outcome}: {proposal.describe()}: {verdict.reason}"
        if verdict.accepted:
            return _accepted(run, proposal, verdict, words, who=who, apply=apply)
    return _result(table, words, verdict=verdict)


def _accepted(
    run: Run, proposal: LayoutProposal, verdict: LayoutVerdict, words: str, *, who: str | None, apply: bool
) -> StageResult:
    table = proposal.table
    done = [a for a in run.snapshot.read(ACTIONS, table=table) if a.proposal_id == proposal.id and a.applied]
    if done or not apply:
        return _result(table, words, verdict=verdict)
    action, why = _apply(run, proposal, who=who)
    if action is None:
        return _result(table, f"{words}; {why}", verdict=verdict)
    return _result(table, f"applied: {proposal.describe()}: {verdict.reason}", verdict=verdict, action=action)


def _unfinished(run: Run, table: str) -> list[LayoutProposal]:
    """Due and not applied, as far as the store knows; for whatever version, because applying makes a new one."""
    accepted = {v.proposal_id for v in run.snapshot.read(LAYOUT_VERDICTS, table=table) if v.accepted}
    applied = {a.proposal_id for a in run.snapshot.read(ACTIONS, table=table) if a.applied}
    found = {p.id: p for p in run.snapshot.read(PROPOSALS, table=table)}
    properties = [p for p in found.values() if p.action == "properties"]
    due = accepted | {p.id for p in sorted(properties, key=lambda p: p.version)[-1:]}
    return [found[p] for p in sorted(due - applied) if p in found]


def _verdict_of(run: Run, proposal: LayoutProposal) -> LayoutVerdict | None:
    found = run.snapshot.read(LAYOUT_VERDICTS, proposal_id=proposal.id)
    return found[-1] if found else None


def _accepts(run: Run, proposal: LayoutProposal) -> bool:
    verdict = _verdict_of(run, proposal)
    return verdict is not None and verdict.accepted


def _result(
    table: str, words: str, *, verdict: LayoutVerdict | None = None, action: MaintenanceAction | None = None
) -> StageResult:
    numbers: dict[str, int | float] = {}
    if verdict is not None:
        numbers |= {
            "saving_cpu_s_per_day": verdict.saving_cpu_ns_per_day / 1e9,
            "rewrite_cpu_s": verdict.rewrite_cpu_ns / 1e9,
            "bytes_rewritten": verdict.bytes_rewritten,
        }
        if verdict.break_even_days is not None:
            numbers["break_even_days"] = verdict.break_even_days
    if action is not None:
        told = {"files_before": action.files_before, "files_after": action.files_after}
        numbers |= {name: value for name, value in told.items() if value is not None}
    return StageResult(table, action is not None, words, numbers)
