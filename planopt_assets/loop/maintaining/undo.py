"""The last change that planopt made to a table, taken back on a person's word."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from planopt_assets.delta.own_commits import FileChange, marked_commits, marks_after
from planopt_assets.engine.delta.delta_log import read_table_facts
from planopt_assets.engine.delta.table_size import table_size
from planopt_assets.engine.delta.undoing import put_back, restore
from planopt_assets.errors import TableReplaced, TableUnreadable, UndoRefused
from planopt_assets.loop.maintaining.records import keep_action
from planopt_assets.model.maintenance_action import MaintenanceAction
from planopt_assets.store.codecs.maintaining import ACTIONS, PROPOSALS
from planopt_assets.store.crash_points import reached

if TYPE_CHECKING:
    from planopt_assets.loop.run import Run


def undo_layout(run: Run, table: str, *, who: str) -> MaintenanceAction:
    """Take back the last change: a layout by RESTORE, where nothing was written since; properties one by one."""
    run.store.refresh()
    last = _last_applied(run, table)
    pinned = next(t for t in run.workspace.tables if t.name == table)
    facts = read_table_facts(table, pinned.location)
    if facts.table_id != last.table_id or last.version_after is None or last.version_before is None:
        raise TableReplaced(
            f"table {last.table_id} was changed, and {facts.table_id} is there now", where=f"table {table}", fix="none"
        )
    action = MaintenanceAction(
        run.event_id("mnt", table) + _undone_as(last),
        *(table, last.table_id, "restore", "undone", f"takes back {last.id}: {last.reason}"),
        undoes=last.id,
        who=who,
    )
    started = time.perf_counter_ns()
    before = table_size(run.workspace.spark, pinned.location)
    if left := next(
        (m for m in marks_after(pinned.location, last.version_after) if m.endswith(_undone_as(last))), None
    ):
        done = marked_commits(pinned.location, last.version_after, left)  # its process ended before it stored its row
        assert done is not None
        action = replace(action, id=left)
    else:
        done = _taken_back(run, last, pinned.location, action.id)
    reached("after_undo_commit")
    after = table_size(run.workspace.spark, pinned.location)
    action = replace(
        action,
        version_before=done.first - 1,
        version_after=done.last,
        files_before=before.files,
        files_after=after.files,
        bytes_before=before.bytes,
        bytes_after=after.bytes,
        bytes_rewritten=0,
        took_ns=time.perf_counter_ns() - started,
    )
    keep_action(run, action)
    return action


def _taken_back(run: Run, last: MaintenanceAction, location: str, action_id: str) -> FileChange:
    spark = run.workspace.spark
    assert last.version_after is not None
    assert last.version_before is not None
    if last.action != "properties":
        versions = {"applied": last.version_after, "to": last.version_before}
        return restore(spark, last.table, location, **versions, action_id=action_id)
    before = _properties_before(run, last, location)
    return put_back(spark, last.table, location, properties=before, action_id=action_id)


def _properties_before(run: Run, last: MaintenanceAction, location: str) -> dict[str, str | None]:
    """The properties that an action has set, as they were; None: not set."""
    proposal = run.snapshot.read(PROPOSALS, proposal_id=last.proposal_id)[-1]
    try:
        old = read_table_facts(last.table, location, last.version_before)
    except TableUnreadable as error:
        names = ", ".join(name for name, _ in proposal.properties)
        raise UndoRefused(
            f"version {last.version_before} is no longer in its log, so nobody knows what {names} was",
            where=f"table {last.table}",
            fix="ALTER TABLE … SET or UNSET TBLPROPERTIES",
        ) from error
    return {name: old.property(name) for name, _ in proposal.properties}


def _undone_as(action: MaintenanceAction) -> str:
    """How the id of the action ends that takes this one back."""
    return f"-undo-{action.id[4:]}"


def _last_applied(run: Run, table: str) -> MaintenanceAction:
    actions = run.snapshot.read(ACTIONS, table=table)
    gone = {a.undoes for a in actions if a.undoes}
    left = [a for a in actions if a.applied and a.undo and a.id not in gone]
    if not left:
        raise UndoRefused(
            "planopt has changed nothing of it that could be taken back", where=f"table {table}", fix="none is needed"
        )
    return left[-1]
