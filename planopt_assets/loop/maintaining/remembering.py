"""What the store remembers of a table's layouts: asked before a trial, and right before a table is changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.errors import MaintenanceRefused
from planopt_assets.loop.maintaining.readers import Readers, memory_of, readers_of
from planopt_assets.maintain.permission import for_a_person

if TYPE_CHECKING:
    from planopt_assets.loop.run import Run
    from planopt_assets.maintain.layout_memory import LayoutMemory
    from planopt_assets.model.layout_proposal import LayoutProposal
    from planopt_assets.model.layout_verdict import LayoutVerdict


def readers(run: Run) -> Readers:
    snapshot = run.snapshot
    return snapshot.once("readers", lambda: readers_of(run.workload, snapshot, run.standings()))


def memory(run: Run, table: str) -> LayoutMemory:
    return memory_of(run.workload, run.snapshot, readers(run), table)


def proven_verdict(run: Run, proposal: LayoutProposal, *, by_hand: bool) -> LayoutVerdict:
    """The accepted verdict that a layout rests on, read at this moment: what the run began with may be old."""
    found = memory_of(run.workload, run.store.newest(), readers(run), proposal.table).of(proposal, by_hand=by_hand)
    where, fix = f"table {proposal.table}", f"planopt maintain {proposal.table} tries it first"
    if found.state != "proven" or found.verdict is None:
        why = "the layout was never tried" if found.verdict is None else f"it is not proven: {found.why}"
        raise MaintenanceRefused(why, where=where, fix=fix)
    if not by_hand and (why := for_a_person(proposal.action, found.verdict.subset)):
        raise MaintenanceRefused(why, where=where, fix=f"planopt maintain {proposal.table} --apply")
    return found.verdict
