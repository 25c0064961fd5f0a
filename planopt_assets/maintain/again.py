"""A layout that was applied before and is due again: the proposal says what the last one gained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planopt_assets.maintain.layout_memory import MOVED
from planopt_assets.model.layout_proposal import REWRITING, LayoutProposal
from planopt_assets.model.layout_verdict import LayoutVerdict
from planopt_assets.model.maintenance_action import MaintenanceAction


def still_applied(actions: Sequence[MaintenanceAction]) -> list[MaintenanceAction]:
    """What was done to a table and not taken back, in its order."""
    undone = {a.undoes for a in actions if a.status == "undone"}
    return [a for a in actions if a.applied and a.id not in undone]


def is_laid_out(actions: Sequence[MaintenanceAction]) -> bool:
    """Whether planopt has written the table's files anew, so that there is a layout to keep."""
    return any(a.action in REWRITING for a in still_applied(actions))


def is_indexed(
    proposal: LayoutProposal, actions: Sequence[MaintenanceAction], proposals: Sequence[LayoutProposal]
) -> bool:
    """Whether these bloom filters are in the files already: planopt wrote them last, and little was added since.

    Worked: filters were written into 4 GB. At 5 GB they are there; at 7 GB most of the new files have none.
    """
    done = [a for a in still_applied(actions) if a.action in REWRITING]
    made = {p.id: p.columns for p in proposals}
    if not done or done[-1].action != "bloom" or made.get(done[-1].proposal_id) != proposal.columns:
        return False
    then = done[-1].bytes_after
    return then is None or proposal.bytes_before <= MOVED * then


def with_lost_index(proposal: LayoutProposal, actions: Sequence[MaintenanceAction]) -> LayoutProposal:
    """The same rewrite; with a word to those who rely on bloom filters, where it leaves them out of the new files."""
    done = [a for a in still_applied(actions) if a.action in REWRITING]
    if not proposal.rewrites or proposal.action == "bloom" or not done or done[-1].action != "bloom":
        return proposal
    words = "files that it writes have no bloom filters; those are proposed again after it"
    return replace(proposal, writers=f"{proposal.writers}; {words}" if proposal.writers else words)


def proposed_again(
    proposal: LayoutProposal, actions: Sequence[MaintenanceAction], verdicts: Sequence[LayoutVerdict]
) -> LayoutProposal:
    """The same proposal; with the last gain, if the same kind of rewrite was applied and not taken back.

    Worked: a compaction was applied at version 12 and measured to save 5.2 s CPU a day. New appends left 60 small
    files. The reason ends with `; the last one, at version 12, was measured to save 5.2 s CPU a day`.
    """
    done = [a for a in still_applied(actions) if a.action == proposal.action]
    proven = {v.id: v for v in verdicts if v.accepted}
    last = next((a for a in reversed(done) if a.verdict_id in proven), None)
    if last is None or not proposal.rewrites:
        return proposal
    saving = proven[last.verdict_id].saving_cpu_ns_per_day
    words = f"the last one, at version {last.version_after}, was measured to save {saving / 1e9:.1f} s CPU a day"
    if subset := proven[last.verdict_id].subset:
        words += f" on {subset}"
    return replace(
        proposal,
        reason=f"{proposal.reason}; {words}",
        arithmetic=(*proposal.arithmetic, ("last_measured_saving_ns_per_day", saving)),
        evidence_ids=(*proposal.evidence_ids, last.id, last.verdict_id),
    )
