"""An action that failed on its way: what it had set on the table is put back, and what cannot be is told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planopt_assets.delta.own_commits import FileChange, marked_commits
from planopt_assets.engine.delta.delta_log import read_table_facts
from planopt_assets.engine.delta.undoing import put_back
from planopt_assets.errors import PlanoptError
from planopt_assets.loop.maintaining.settings_before import settings_before, still_set

if TYPE_CHECKING:
    from planopt_assets.loop.run import Run
    from planopt_assets.model.layout_proposal import LayoutProposal
    from planopt_assets.model.maintenance_action import MaintenanceAction


def is_half(proposal: LayoutProposal, change: FileChange) -> bool:
    """Whether only settings were committed of an action that rewrites files or their statistics."""
    return proposal.needs_proof and not (change.files_added or change.files_removed)


def taken_back(
    run: Run, proposal: LayoutProposal, action: MaintenanceAction, location: str, version: int
) -> tuple[MaintenanceAction, str]:
    """A failed action with the versions it made after one, and in words what it left on the table.

    Files that were rewritten stay: no row is lost by them, and `--undo` takes them back. The same if settings cannot
    be put back, because Spark is gone.
    """
    done = marked_commits(location, version, action.id)
    if done is None:
        return action, "the table is as it was"
    undo = f"planopt maintain {proposal.table} --undo"
    left = replace(action, version_before=done.first - 1, version_after=done.last, undo=undo)
    if not is_half(proposal, done):
        return left, f"some of it is done: {undo} takes it back"
    try:
        run.workspace.revive()
        now = read_table_facts(proposal.table, location)
        old = still_set(proposal, settings_before(proposal, location, done.first - 1), now)
        if old:
            last = put_back(
                *(run.workspace.spark, proposal.table, location),
                properties=old.properties,
                clustering=old.clustering,
                action_id=action.id,
            ).last
            left = replace(left, version_after=last)
    except PlanoptError as error:
        return left, f"what it had set is still on the table ({error.what}): {undo}"
    return replace(left, undo=""), "what it had set on the table was put back"
