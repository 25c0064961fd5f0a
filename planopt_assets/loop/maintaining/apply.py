"""A proven layout put on the user's table: by automation where it is allowed, or on a person's word."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from planopt_assets.delta.own_commits import marked_commits, marks_after
from planopt_assets.engine.delta.delta_log import read_table_facts
from planopt_assets.engine.delta.protocol import writable
from planopt_assets.engine.delta.rewriting import rewrite
from planopt_assets.engine.delta.table_size import TableSize, table_size
from planopt_assets.engine.execution.block_cpu import with_cpu
from planopt_assets.errors import (
    MaintenanceConflict,
    MaintenanceFailed,
    MaintenanceRefused,
    PlanoptError,
    TableReplaced,
    TableUnreadable,
)
from planopt_assets.loop.maintaining.half_done import is_half, taken_back
from planopt_assets.loop.maintaining.records import keep_action
from planopt_assets.loop.maintaining.remembering import proven_verdict
from planopt_assets.maintain.permission import for_a_person, may_not_set, may_not_write
from planopt_assets.maintain.retention import FILES, hours
from planopt_assets.model.maintenance_action import ActionStatus, MaintenanceAction
from planopt_assets.store.codecs.maintaining import ACTIONS
from planopt_assets.store.crash_points import reached

if TYPE_CHECKING:
    from planopt_assets.delta.own_commits import FileChange
    from planopt_assets.loop.run import Run
    from planopt_assets.model.layout_proposal import LayoutProposal
    from planopt_assets.model.table_facts import TableFacts
    from planopt_assets.model.workload import Table


def apply_layout(run: Run, proposal: LayoutProposal, *, who: str | None = None) -> MaintenanceAction:
    """Put a layout on its table and store what was done; `who` is the person who asked, None is automation.

    Refused unless the layout is proven for its readers of today, the table is still the one that was tried, and the
    workload file lets planopt write to it. A checkpoint and table properties need no verdict. What goes wrong is stored
    too, and raised; what it had set on the table by then is put back.
    """
    run.workspace.revive()
    action = _begun(run, proposal, who)
    try:
        if proposal.needs_proof:
            action = replace(action, verdict_id=proven_verdict(run, proposal, by_hand=who is not None).id)
        elif who is None and (why := for_a_person(proposal.action)):
            fix = f"planopt maintain {proposal.table} --apply"
            raise MaintenanceRefused(why, where=f"table {proposal.table}", fix=fix)
        facts, location = _may_write(run, proposal, by_hand=who is not None)
        try:
            done = _applied(run, proposal, action, location)
        except (MaintenanceConflict, MaintenanceFailed, TableUnreadable) as error:
            action, words = taken_back(run, proposal, action, location, facts.version)
            raise type(error)(f"{error.what}; {words}", where=error.where, fix=error.fix) from error
    except PlanoptError as error:
        refused = isinstance(error, MaintenanceRefused | TableReplaced)
        status: ActionStatus = "refused" if refused else "failed"
        keep_action(run, replace(action, status=status, reason=str(error), error_code=error.code))
        raise
    keep_action(run, done)
    return done


def _begun(run: Run, proposal: LayoutProposal, who: str | None) -> MaintenanceAction:
    return MaintenanceAction(
        run.event_id("mnt", proposal.table, proposal.id[4:]),
        proposal.table,
        proposal.table_id,
        proposal.action,
        "failed",
        proposal.describe(),
        proposal_id=proposal.id,
        who=who,
    )


def _may_write(run: Run, proposal: LayoutProposal, *, by_hand: bool) -> tuple[TableFacts, str]:
    """A table that may be written to, as it is now, and its location; its log is read anew."""
    pinned = next(t for t in run.workspace.tables if t.name == proposal.table)
    facts = read_table_facts(proposal.table, pinned.location)
    where = f"table {proposal.table}"
    if facts.table_id != proposal.table_id:
        raise TableReplaced(
            f"table {proposal.table_id} was tried, and {facts.table_id} is there now",
            where=where,
            fix="run the loop again: the new table is looked at anew",
        )
    table: Table = run.workload.table(proposal.table)
    why, fix = may_not_write(table, run.workload.mode, by_hand=by_hand, unknown_features=writable(facts))
    if not why:
        why, fix = may_not_set(table, facts.protocol, proposal.properties)
    if why:
        raise MaintenanceRefused(why, where=where, fix=fix)
    return facts, pinned.location


def _applied(run: Run, proposal: LayoutProposal, action: MaintenanceAction, location: str) -> MaintenanceAction:
    spark, cpu = run.workspace.spark, run.workspace.instruments.cpu
    before, started = table_size(spark, location), time.perf_counter_ns()
    reached("before_layout_commit")
    (change, attempts), spent = with_cpu(spark, cpu, lambda: rewrite(spark, location, proposal, action.id))
    reached("after_layout_commit")
    took = time.perf_counter_ns() - started
    after = _size_after(run, location, before, change if proposal.rewrites else None)
    facts = read_table_facts(proposal.table, location)
    return replace(
        action,
        status="applied",
        version_before=change.first - 1 if change else facts.version,
        version_after=change.last if change else facts.version,
        files_before=before.files,
        files_after=after.files,
        bytes_before=before.bytes,
        bytes_after=after.bytes,
        bytes_rewritten=change.bytes_added if change and proposal.rewrites else 0,
        took_ns=took,
        cpu_ns=spent,
        attempts=attempts,
        undo=f"planopt maintain {proposal.table} --undo" if change else "",
        undo_until=_kept_until(facts) if change else None,
    )


def _size_after(run: Run, location: str, before: TableSize, change: FileChange | None) -> TableSize:
    """As Delta counts it; where Spark has ended right after the commit, by what the commit did."""
    try:
        return table_size(run.workspace.spark, location)
    except MaintenanceFailed:
        if change is None:
            return before
        files = before.files + change.files_added - change.files_removed
        return TableSize(files, before.bytes + change.bytes_added - change.bytes_removed)


def _kept_until(facts: TableFacts) -> datetime:
    """Till then no VACUUM with the table's own retention deletes what undoing needs."""
    return datetime.now(UTC) + timedelta(hours=hours(dict(facts.properties), FILES))


def recover(run: Run, proposal: LayoutProposal) -> MaintenanceAction | None:
    """An action that was committed by a process that ended before it stored its row; it is stored now.

    Its commits have its mark, so it is neither lost nor done twice. If it had set properties and rewritten nothing yet,
    it has failed, and `--undo` puts them back.
    """
    pinned = next((t for t in run.workspace.tables if t.name == proposal.table), None)
    known = {a.id for a in run.snapshot.read(ACTIONS, table=proposal.table)}
    marks = marks_after(pinned.location, proposal.version) if pinned else []
    found = next((m for m in marks if m not in known and m.endswith(f"-{proposal.id[4:]}")), None)
    change = marked_commits(pinned.location, proposal.version, found) if pinned and found else None
    if pinned is None or found is None or change is None:
        return None
    run.workspace.revive()
    size = table_size(run.workspace.spark, pinned.location)
    undo = f"planopt maintain {proposal.table} --undo"
    half = is_half(proposal, change)
    words = "found in the table's log after its process had ended"
    if half:
        words = f"its process ended before it rewrote anything, and what it had set is on the table: {undo}"
    action = replace(
        _begun(run, proposal, None),
        id=found,
        status="failed" if half else "applied",
        error_code=MaintenanceFailed.code if half else None,
        reason=f"{proposal.describe()}; {words}",
        version_before=change.first - 1,
        version_after=change.last,
        files_before=size.files + (change.files_removed - change.files_added if proposal.rewrites else 0),
        files_after=size.files,
        bytes_before=size.bytes + (change.bytes_removed - change.bytes_added if proposal.rewrites else 0),
        bytes_after=size.bytes,
        bytes_rewritten=change.bytes_added if proposal.rewrites else 0,
        undo=undo,
        undo_until=_kept_until(read_table_facts(proposal.table, pinned.location)),
    )
    keep_action(run, action)
    return action
