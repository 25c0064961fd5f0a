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
from planopt_assets.loop.maintain_step import NO_LAYOUT, STAGE, MaintainStep, OpenLayout, Permission, nothing_proposed
from planopt_assets.loop.maintaining.apply import apply_layout, recover
from planopt_assets.loop.maintaining.layout_trial import Tried, try_layouts
from planopt_assets.loop.maintaining.records import keep_trial
from planopt_assets.loop.maintaining.remembering import memory
from planopt_assets.loop.maintaining.table_steps import maintain_step_of
from planopt_assets.loop.maintaining.trial_cpu import trial_cpu
from planopt_assets.loop.run import Run, StageResult
from planopt_assets.loop.table_standing import tables_of
from planopt_assets.maintain.markdown import verdict_markdown, verdict_numbers
from planopt_assets.store.codecs.maintaining import ACTIONS, LAYOUT_VERDICTS, PROPOSALS

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
    found = {table: _off(table, table_step(run, table, who)) or _recovered(run, table) for table in tables}
    for together in _to_try_together(run, [t for t in tables if found[t] is None], who):
        if _accepted_together(run, together, who=who):
            break
    return [found[table] or _whole(run, table, who=who, apply=apply) for table in tables]


def _to_try_together(run: Run, tables: Sequence[str], who: str | None) -> list[list[LayoutProposal]]:
    """One layout of each table that has none proven: the best ones, then those that leave rows in their order.

    A single layout needs no trial together with others, and the same layouts no second one. What is accepted together
    is applied together: so automation joins only tables that it may write, and as many as may be cloned at once.
    """
    steps = [table_step(run, table, who) for table in tables]
    written = [one.to_prove for one in steps if who is not None or one.written]
    unproven = [found for found in written if not any(one.state == "proven" for one in found)]
    due = [chosen for found in unproven if (chosen := [one.proposal for one in found if one.state == "due"])]
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


def _off(table: str, found: MaintainStep) -> StageResult | None:
    return StageResult(table, False, found.step.why) if found.step.by_mode else None


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


def table_step(run: Run, table: str, who: str | None) -> MaintainStep:
    """What this stage has to do for a table, as `planopt plan` tells it for automation (`who` is None).

    Computed once per snapshot: a trial or a change is stored, so the next question is answered anew. Where nobody asked
    for trials, no store and no log is read.
    """
    by_hand = who is not None
    allowed = Permission(run.workload.table(table), run.workload.mode, by_hand=by_hand)
    if allowed.off():
        return nothing_proposed(allowed)
    return run.snapshot.once(f"maintain_step:{table}:{by_hand}", lambda: _table_step(run, table, allowed))


def _table_step(run: Run, table: str, allowed: Permission) -> MaintainStep:
    standing = tables_of(run).get(table)
    if standing is None:  # it is known by its catalog alone, and was never looked at
        return nothing_proposed(allowed)
    return maintain_step_of(run.workload, run.snapshot, run.standings(), standing, by_hand=allowed.by_hand)


def _recovered(run: Run, table: str) -> StageResult | None:
    for proposal in _unfinished(run, table):
        if done := recover(run, proposal):
            return _result(run, table, done.reason, action=done)
    return None


def _whole(run: Run, table: str, *, who: str | None, apply: bool) -> StageResult:
    """The layout, then what concerns the log and the properties alone."""
    result = _table(run, table, who=who, apply=apply)
    due = table_step(run, table, who).without_trial
    if due and not apply:
        words = "; ".join(f"{d.proposal.describe()}{f' (not yet: {d.held})' if d.held else ''}" for d in due)
        return replace(result, summary=f"{result.summary}; proposed, and in need of no trial: {words}")
    for one in due:
        action, words = _apply(run, one, who=who)
        said = one.proposal.describe()
        words = f"applied: {said}" if action else f"{said}: {words}"
        result = replace(result, changed=result.changed or action is not None, summary=f"{result.summary}; {words}")
    return result


def _apply(run: Run, one: OpenLayout, *, who: str | None) -> tuple[MaintenanceAction | None, str]:
    """Change the table, if automation may or a person asks; else why not. A person gets the error."""
    proposal = one.proposal
    if one.held:
        return None, f"not applied: {one.held}"
    run.progress(STAGE, proposal.table, f"applies: {proposal.describe()}")
    try:
        return apply_layout(run, proposal, who=who), ""
    except (MaintenanceRefused, MaintenanceConflict, MaintenanceFailed, TableReplaced, TableUnreadable) as error:
        if who is not None:
            raise
        return None, f"not applied: {error}"


def _table(run: Run, table: str, *, who: str | None, apply: bool) -> StageResult:
    layouts = table_step(run, table, who).to_prove
    if not layouts:
        return StageResult(table, False, NO_LAYOUT)
    said: list[str] = []
    last = None
    for found in layouts:  # proven ones first: what is proven needs no rival
        one, words = found, ""
        if one.state == "due":
            if no_trials := run.no_trials:
                return _result(run, table, "; ".join([*said, no_trials]), verdict=last)
            tried, words = _try(run, [one.proposal], who=who)
            one = _after_trial(run, one, who) if tried else one
        verdict = one.known.verdict if one.known else None
        if one.state == "proven" and verdict is not None:
            words = f"accept: {one.proposal.describe()}: {verdict.reason}"
            return _accepted(run, one, verdict, words, who=who, apply=apply)
        last = verdict or last
        said.append(words or f"{one.proposal.describe()}: {one.why}")
    return _result(run, table, "; ".join(said), verdict=last)


def _after_trial(run: Run, one: OpenLayout, who: str | None) -> OpenLayout:
    """The same proposal, with what the trial has shown."""
    found = table_step(run, one.proposal.table, who).to_prove
    return next((other for other in found if other.proposal.id == one.proposal.id), one)


def _accepted(
    run: Run, one: OpenLayout, verdict: LayoutVerdict, words: str, *, who: str | None, apply: bool
) -> StageResult:
    table = one.proposal.table
    if not apply:
        return _result(run, table, words, verdict=verdict)
    action, why = _apply(run, one, who=who)
    if action is None:
        return _result(run, table, f"{words}; {why}", verdict=verdict)
    return _result(run, table, f"applied: {one.proposal.describe()}: {verdict.reason}", verdict=verdict, action=action)


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
    """Changed is a table with a new verdict too, whatever it says: Dagster shows what is changed."""
    made = _made_now(run, table)
    changed = action is not None or bool(made)
    if made and (verdict is None or verdict.id not in made):  # tried together with other tables, or before this one
        verdict = list(made.values())[-1]
    numbers: dict[str, int | float] = verdict_numbers(verdict) if verdict else {}
    if action is not None:
        told = {"files_before": action.files_before, "files_after": action.files_after}
        numbers |= {name: value for name, value in told.items() if value is not None}
    # Trials are many rows: those of an old verdict are not read again every night.
    markdown = verdict_markdown(verdict, trial_cpu(run.snapshot, verdict) if changed else {}) if verdict else ""
    return StageResult(table, changed, words, numbers, markdown)


def _made_now(run: Run, table: str) -> dict[str, LayoutVerdict]:
    """The verdicts on a table's layouts that this run has made, by id."""
    standing = tables_of(run).get(table)
    return {v.id: v for v in standing.verdicts if v.stamp.run_id == run.run_id} if standing else {}
