"""Maintain: try what is proposed, and put what is proven, or needs no proof, on tables that planopt may change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from planopt_assets.engine.delta.clones import Clones
from planopt_assets.errors import (
    LayoutNotTried,
    MaintenanceConflict,
    MaintenanceFailed,
    MaintenanceRefused,
    TableReplaced,
    TableUnreadable,
)
from planopt_assets.loop.maintaining.apply import apply_layout, recover
from planopt_assets.loop.maintaining.layout_trial import STAGE, Tried, try_layouts
from planopt_assets.loop.maintaining.records import keep_trial
from planopt_assets.loop.maintaining.remembering import memory, remembered
from planopt_assets.loop.maintaining.trial_cpu import trial_cpu
from planopt_assets.loop.run import Run, StageResult
from planopt_assets.loop.table_standing import of_last_look
from planopt_assets.maintain.again import is_laid_out
from planopt_assets.maintain.keep_properties import set_instead
from planopt_assets.maintain.markdown import verdict_markdown, verdict_numbers
from planopt_assets.maintain.permission import for_a_person, may_not_set, may_not_write
from planopt_assets.store.codecs.maintaining import ACTIONS, LAYOUT_VERDICTS, PROPOSALS, READINESS

if TYPE_CHECKING:
    from planopt_assets.model.layout_proposal import LayoutProposal
    from planopt_assets.model.layout_verdict import LayoutVerdict
    from planopt_assets.model.maintenance_action import MaintenanceAction


def maintain(run: Run, tables: Sequence[str], *, who: str | None = None, apply: bool = True) -> list[StageResult]:
    """One result per table: what was tried, what it showed, and what was changed.

    Layouts of all these tables are tried together first: the best of each, then merging where sorting was the best. If
    neither is accepted, each is tried alone: one of them may be what the others suffer from. What is tried at all, the
    memory of verdicts says (`maintain/layout_memory.py`).

    Automation (`who` is None) changes only tables with `maintain: auto`, in mode `auto`. A person gets errors;
    automation goes on with the next table.
    """
    Clones(run.workload.store).sweep()
    run.store.refresh()
    found = {table: _off(run, table, who) or _recovered(run, table) for table in tables}
    for together in _to_try_together(run, [t for t in tables if found[t] is None], who):
        if _accepted_together(run, together, who=who):
            break
    return [found[table] or _whole(run, table, who=who, apply=apply) for table in tables]


def _to_try_together(run: Run, tables: Sequence[str], who: str | None) -> list[list[LayoutProposal]]:
    """One layout of each table that has none proven: the best ones, then those that leave rows in their order.

    A single layout needs no trial together with others, and the same layouts no second one. What is accepted together
    is applied together: so automation joins only tables that it may write, and as many as may be cloned at once.
    """
    written = [t for t in tables if who is not None or not _not_written(run, t)]
    memories = [[(p, remembered(run, p, by_hand=who is not None)) for p in open_proposals(run, t)] for t in written]
    unproven = [found for found in memories if not any(m.state == "proven" for _, m in found)]
    due = [chosen for found in unproven if (chosen := [p for p, m in found if m.state == "due"])]
    best = _at_once(run, [found[0] for found in due])
    merged = _at_once(run, [next((p for p in found if p.action == "compact"), found[0]) for found in due])
    return [chosen for chosen in ([best] if best == merged else [best, merged]) if len(chosen) > 1]


def _at_once(run: Run, proposals: Sequence[LayoutProposal]) -> list[LayoutProposal]:
    """As many as fit into `trial_bytes`, for their clones live at the same time. The others are tried alone."""
    chosen: list[LayoutProposal] = []
    left = run.workload.maintenance.trial_bytes
    for proposal in proposals:
        if proposal.bytes_before <= left:
            chosen.append(proposal)
            left -= proposal.bytes_before
    return chosen


def _accepted_together(run: Run, proposals: Sequence[LayoutProposal], *, who: str | None) -> bool:
    """Whether these layouts are accepted, or those that are left without the ones that do not pay for themselves."""
    together = list(proposals)
    while len(together) > 1 and not run.no_trials:
        ids = [p.layout_id for p in together]
        if all(memory(run, p.table).tried_together(p, ids) for p in together):
            return False
        tried, _ = _try(run, together, who=who)
        if tried is None or tried.accepted:
            return tried is not None
        open_ones = {v.proposal_id for v in tried.verdicts if v.outcome == "inconclusive"}
        if len(open_ones) == len(together):
            return False
        together = [p for p in together if p.id in open_ones]
    return False


def _not_written(run: Run, table: str) -> str:
    """Why automation does not write to a table, with what to do; empty if it does."""
    why, fix = may_not_write(run.workload.table(table), run.workload.mode, by_hand=False, unknown_features=())
    return f"{why} ({fix})" if why else ""


def _off(run: Run, table: str, who: str | None) -> StageResult | None:
    """Nobody asked for trials of this table: neither a person now, nor the workload file."""
    if who is None and run.workload.mode == "observe":
        return StageResult(table, False, "the workload's mode is observe: planopt only looks")
    if who is None and run.workload.table(table).maintain == "never":
        return StageResult(table, False, "`maintain` is never in the workload file: no layout of it is tried")
    return None


def _try(run: Run, proposals: Sequence[LayoutProposal], *, who: str | None) -> tuple[Tried | None, str]:
    """Try layouts together and store what came out; or in words why they could not be tried."""
    for proposal in proposals:
        run.progress(STAGE, proposal.table, f"tries on a clone: {proposal.describe()}")
    run.workspace.revive()
    try:
        tried = try_layouts(run, proposals)
    except (LayoutNotTried, MaintenanceFailed, TableUnreadable) as error:
        if who is not None and len(proposals) == 1:
            raise
        return None, f"not tried: {error}"
    keep_trial(run, tried)
    for verdict in tried.verdicts:
        run.progress(STAGE, verdict.table, f"{verdict.outcome}: {verdict.reason}")
    return tried, ""


def open_proposals(run: Run, table: str, *, proven: bool = True) -> list[LayoutProposal]:
    """What is proposed for the table as it is now, the largest saving first: what a trial has to prove, or the rest."""
    pinned = next((t for t in run.workspace.tables if t.name == table), None)
    if pinned is None:
        return []
    stored = of_last_look(run.snapshot.read(PROPOSALS, table=table), run.snapshot.read(READINESS, table=table))
    of_now, index = (pinned.table_id, pinned.version), run.workload.table(table).index
    wanted = [p for p in stored if p.needs_proof == proven and (index or p.action != "bloom")]
    now = {p.id: p for p in wanted if (p.table_id, p.version) == of_now}.values()
    return sorted(now, key=lambda p: (-p.saving_cpu_ns_per_day, p.id))


def _recovered(run: Run, table: str) -> StageResult | None:
    for proposal in _unfinished(run, table):
        if done := recover(run, proposal):
            return _result(run, table, done.reason, action=done)
    return None


def _whole(run: Run, table: str, *, who: str | None, apply: bool) -> StageResult:
    """The layout, then what concerns the log and the properties alone; properties only where they keep a layout."""
    result = _table(run, table, who=who, apply=apply)
    actions = run.snapshot.read(ACTIONS, table=table)
    done = {a.proposal_id for a in actions if a.applied}
    left = [p for p in open_proposals(run, table, proven=False) if p.id not in done]
    due = [p for p in left if p.action != "properties" or is_laid_out(actions)]
    held = {p.id: _not_set(run, p, due) for p in due}
    if due and not apply:
        words = "; ".join(f"{p.describe()}{f' (not yet: {held[p.id]})' if held[p.id] else ''}" for p in due)
        return replace(result, summary=f"{result.summary}; proposed, and in need of no trial: {words}")
    for proposal in due:
        why = held[proposal.id]
        action, words = (None, f"not applied: {why}") if why else _apply(run, proposal, who=who)
        words = f"applied: {proposal.describe()}" if action else f"{proposal.describe()}: {words}"
        result = replace(result, changed=result.changed or action is not None, summary=f"{result.summary}; {words}")
    return result


def _not_set(run: Run, proposal: LayoutProposal, due: Sequence[LayoutProposal]) -> str:
    """Why a property is not set, also on a person's word; empty if it may be. What else is due goes on without it."""
    if other := set_instead(proposal, due):
        return f"{other} is the same remedy for less"
    pinned = next(t for t in run.workspace.tables if t.name == proposal.table)
    facts = run.workspace.pins.facts(proposal.table, pinned.location)
    why, fix = may_not_set(run.workload.table(proposal.table), facts.protocol, proposal.properties)
    return f"{why} ({fix})" if why else ""


def _apply(run: Run, proposal: LayoutProposal, *, who: str | None) -> tuple[MaintenanceAction | None, str]:
    """Change the table, if automation may or a person asks; else why not. A person gets the error."""
    if who is None and (why := _not_written(run, proposal.table)):
        return None, f"not applied: {why}"
    if who is None and (why := for_a_person(proposal.action)):
        return None, f"not applied: {why} (planopt maintain {proposal.table} --apply)"
    run.progress(STAGE, proposal.table, f"applies: {proposal.describe()}")
    try:
        return apply_layout(run, proposal, who=who), ""
    except (MaintenanceRefused, MaintenanceConflict, MaintenanceFailed, TableReplaced, TableUnreadable) as error:
        if who is not None:
            raise
        return None, f"not applied: {error}"


def _table(run: Run, table: str, *, who: str | None, apply: bool) -> StageResult:
    proposals = open_proposals(run, table)
    if not proposals:
        return StageResult(table, False, "no layout is proposed for the table as it is")
    by_hand = who is not None
    known = {p.id: remembered(run, p, by_hand=by_hand) for p in proposals}
    said: list[str] = []
    last = None
    for proposal in sorted(proposals, key=lambda p: known[p.id].state != "proven"):  # what is proven needs no rival
        found, words = known[proposal.id], ""
        if found.state == "due":
            if no_trials := run.no_trials:
                return StageResult(table, False, no_trials)
            tried, words = _try(run, [proposal], who=who)
            found = remembered(run, proposal, by_hand=by_hand) if tried else found
        if found.state == "proven" and found.verdict is not None:
            words = f"accept: {proposal.describe()}: {found.verdict.reason}"
            return _accepted(run, proposal, found.verdict, words, who=who, apply=apply)
        last = found.verdict or last
        said.append(words or f"{proposal.describe()}: {found.why}")
    return _result(run, table, "; ".join(said), verdict=last)


def _accepted(
    run: Run, proposal: LayoutProposal, verdict: LayoutVerdict, words: str, *, who: str | None, apply: bool
) -> StageResult:
    table = proposal.table
    done = [a for a in run.snapshot.read(ACTIONS, table=table) if a.proposal_id == proposal.id and a.applied]
    if done or not apply:
        return _result(run, table, words, verdict=verdict)
    action, why = _apply(run, proposal, who=who)
    if action is None:
        return _result(run, table, f"{words}; {why}", verdict=verdict)
    return _result(run, table, f"applied: {proposal.describe()}: {verdict.reason}", verdict=verdict, action=action)


def _unfinished(run: Run, table: str) -> list[LayoutProposal]:
    """Due and not applied, as far as the store knows; for whatever version, because applying makes a new one."""
    accepted = {v.proposal_id for v in run.snapshot.read(LAYOUT_VERDICTS, table=table) if v.accepted}
    applied = {a.proposal_id for a in run.snapshot.read(ACTIONS, table=table) if a.applied}
    found = {p.id: p for p in run.snapshot.read(PROPOSALS, table=table)}
    proven = {found[p].layout_id for p in accepted if p in found}
    by_version = sorted(found.values(), key=lambda p: p.version)
    newest = {p.layout_id: p.id for p in by_version if p.layout_id in proven}  # an older verdict may be proof enough
    properties = {p.properties: p.id for p in by_version if p.action == "properties"}
    due = accepted | set(newest.values()) | set(properties.values())
    return [found[p] for p in sorted(due - applied) if p in found]


def _result(
    run: Run, table: str, words: str, *, verdict: LayoutVerdict | None = None, action: MaintenanceAction | None = None
) -> StageResult:
    numbers: dict[str, int | float] = verdict_numbers(verdict) if verdict else {}
    if action is not None:
        told = {"files_before": action.files_before, "files_after": action.files_after}
        numbers |= {name: value for name, value in told.items() if value is not None}
    markdown = verdict_markdown(verdict, trial_cpu(run.snapshot, verdict)) if verdict else ""
    return StageResult(table, action is not None, words, numbers, markdown)
