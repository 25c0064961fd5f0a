"""The step `maintain` of a table, from the store and the table's log: for `planopt plan` and for the stage alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from planopt_assets.engine.delta.protocol import writable
from planopt_assets.loop.maintain_step import MaintainStep, Permission, maintain_step
from planopt_assets.loop.maintaining.readers import remembered_of

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing
    from planopt_assets.loop.table_standing import TableStanding
    from planopt_assets.model.workload import Workload
    from planopt_assets.store.snapshot import Snapshot


def maintain_step_of(
    workload: Workload,
    snapshot: Snapshot,
    standings: Mapping[str, Standing],
    table: TableStanding,
    *,
    by_hand: bool = False,
) -> MaintainStep:
    """What is done with the layouts of a table as it is now, by automation or on a person's word."""
    declared = workload.table(table.table)
    unknown = writable(table.facts) if table.facts else ()
    opened = table.open_proposals(index=declared.index)
    known = remembered_of(workload, snapshot, standings, opened, by_hand=by_hand)
    return maintain_step(table, Permission(declared, workload.mode, unknown, by_hand), known)
