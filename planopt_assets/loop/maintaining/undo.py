"""The last change that planopt made to a table, taken back on a person's word."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from planopt_assets.delta.own_commits import FileChange, marked_commits, marks_after
from planopt_assets.engine.delta.delta_log import read_table_facts
from planopt_assets.engine.delta.protocol import writable
from planopt_assets.engine.delta.table_size import table_size
from planopt_assets.engine.delta.undoing import put_back, restore
from planopt_assets.errors import MaintenanceRefused, PlanoptError, TableReplaced, UndoRefused
from planopt_assets.loop.maintaining.half_done import is_half
from planopt_assets.loop.maintaining.records import keep_action
from planopt_assets.loop.maintaining.settings_before import Settings, settings_before
from planopt_assets.maintain.permission import may_not_write
from planopt_assets.model.maintenance_action import ActionStatus, MaintenanceAction
from planopt_assets.store.codecs.maintaining import ACTIONS, PROPOSALS
from planopt_assets.store.crash_points import reached

if TYPE_CHECKING:
    from planopt_assets.loop.run import Run
    from planopt_assets.model.table_facts import TableFacts


def undo_layout(run: Run, table: str, *, who: str) -> MaintenanceAction:
    """Take back the last change: a layout where no rows were written since; settings alone at any time.

    Refused where the workload file does not let planopt write to the table. What is refused is stored too, and raised.
    """
    run.workspace.revive()
    run.store.refresh()
    location = next(t for t in run.workspace.tables if t.name == table).location
    facts = read_table_facts(table, location)
    action = MaintenanceAction(
        run.event_id("mnt", table, "undo"), *(table, facts.table_id, "restore", "failed", ""), who=who
    )
    started = time.perf_counter_ns()
    try:
        _check_writable(run, table, facts)
        last = _last_change(run, table)
        action = replace(action, id=run.event_id("mnt", table) + _undone_as(last), undoes=last.id)
        _check_same(last, facts)
        done = _undone(run, last, location, action)
    except PlanoptError as error:
        refused = isinstance(error, MaintenanceRefused | TableReplaced | UndoRefused)
        status: ActionStatus = "refused" if refused else "failed"
        keep_action(run, replace(action, status=status, reason=str(error), error_code=error.code))
        raise
    done = replace(done, took_ns=time.perf_counter_ns() - started)
    keep_action(run, done)
    return done


def _check_writable(run: Run, table: str, facts: TableFacts) -> None:
    declared, mode = run.workload.table(table), run.workload.mode
    why, fix = may_not_write(declared, mode, by_hand=True, unknown_features=writable(facts))
    if why:
        raise MaintenanceRefused(why, where=f"table {table}", fix=fix)


def _last_change(run: Run, table: str) -> MaintenanceAction:
    """The last one that left something on the table and was not taken back; it may have failed on its way."""
    actions = run.snapshot.read(ACTIONS, table=table)
    gone = {a.undoes for a in actions if a.status == "undone"}
    left = [a for a in actions if a.status in ("applied", "failed") and a.undo and a.id not in gone]
    if not left:
        raise UndoRefused(
            "planopt has changed nothing of it that could be taken back", where=f"table {table}", fix="none is needed"
        )
    return left[-1]


def _check_same(last: MaintenanceAction, facts: TableFacts) -> None:
    if facts.table_id != last.table_id:
        raise TableReplaced(
            f"table {last.table_id} was changed, and {facts.table_id} is there now",
            where=f"table {last.table}",
            fix="none",
        )


def _undone(run: Run, last: MaintenanceAction, location: str, action: MaintenanceAction) -> MaintenanceAction:
    before = table_size(run.workspace.spark, location)
    done, by = _taken_back(run, last, location, action.id)
    reached("after_undo_commit")
    after = table_size(run.workspace.spark, location)
    return replace(
        action,
        id=by,
        status="undone",
        reason=f"takes back {last.id}: {last.reason}",
        version_before=done.first - 1,
        version_after=done.last,
        files_before=before.files,
        files_after=after.files,
        bytes_before=before.bytes,
        bytes_after=after.bytes,
        bytes_rewritten=0,
    )


def _taken_back(run: Run, last: MaintenanceAction, location: str, action_id: str) -> tuple[FileChange, str]:
    """What was committed, and by which action: by an earlier one if its process ended before it stored its row.

    A layout is taken back in one commit, so its mark says that all of it was. Settings may take two: if they are not
    all as they were, they are put back again.
    """
    assert last.version_after is not None
    assert last.version_before is not None
    marks = marks_after(location, last.version_after)
    left = next((m for m in marks if m.endswith(_undone_as(last))), None)
    old = _only_settings(run, last, location)
    if left and (old is None or old.are_in(read_table_facts(last.table, location))):
        done = marked_commits(location, last.version_after, left)
        assert done is not None
        return done, left
    by, spark = left or action_id, run.workspace.spark
    if old is None:
        return restore(spark, last.table, location, to=last.version_before, action_id=by), by
    place = (spark, last.table, location)
    return put_back(*place, properties=old.properties, clustering=old.clustering, action_id=by), by


def _only_settings(run: Run, last: MaintenanceAction, location: str) -> Settings | None:
    """What a change had set, as it was before, if it set something and wrote no file; None: it wrote files."""
    assert last.version_before is not None
    proposals = run.snapshot.read(PROPOSALS, proposal_id=last.proposal_id)
    made = marked_commits(location, last.version_before, last.id)
    if proposals and (last.action == "properties" or (made is not None and is_half(proposals[-1], made))):
        return settings_before(proposals[-1], location, last.version_before)
    return None


def _undone_as(action: MaintenanceAction) -> str:
    """How the id of the action ends that takes this one back."""
    return f"-undo-{action.id[4:]}"
