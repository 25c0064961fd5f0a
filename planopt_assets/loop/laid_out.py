"""Layouts that planopt put on tables and that are still there, each with the verdict that it rests on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt_assets.maintain.again import still_applied
from planopt_assets.store.codecs.maintaining import ACTIONS, LAYOUT_VERDICTS

if TYPE_CHECKING:
    from planopt_assets.model.layout_verdict import LayoutVerdict
    from planopt_assets.model.maintenance_action import MaintenanceAction
    from planopt_assets.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class LaidOut:
    """One change of one table: the action says what it took, the verdict what it saves."""

    action: MaintenanceAction
    verdict: LayoutVerdict | None = None  # None: it needed none, such as a checkpoint


def laid_out(snapshot: Snapshot) -> tuple[LaidOut, ...]:
    """By table, and of each table in the order in which it was done; without VACUUM and what was taken back."""
    done = [a for a in still_applied(snapshot.read(ACTIONS)) if a.proposal_id]
    verdicts = {v.id: v for v in snapshot.read(LAYOUT_VERDICTS)} if done else {}
    return tuple(LaidOut(a, verdicts.get(a.verdict_id)) for a in sorted(done, key=lambda a: a.table))


def by_runs(layouts: Sequence[LaidOut], run_ids: Collection[str]) -> list[LaidOut]:
    """Those of some runs."""
    return [one for one in layouts if one.action.stamp.run_id in run_ids]
