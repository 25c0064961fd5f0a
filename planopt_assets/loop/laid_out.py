"""Layouts that planopt put on tables and nobody took back, each with the verdict that it rests on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt_assets.maintain.again import still_applied
from planopt_assets.model.layout_proposal import REWRITING
from planopt_assets.store.codecs.maintaining import ACTIONS, LAYOUT_VERDICTS, READINESS

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


def on_tables(layouts: Sequence[LaidOut], table_ids: Mapping[str, str]) -> list[LaidOut]:
    """What is on each table now: its last rewrite, and what was done after it. The same again counts once.

    Worked: `orders` was compacted in May and in June, and got a checkpoint after each night of July. Two are left: the
    compaction of June, and the last checkpoint. Of a table that was replaced nothing is left.

    `table_ids` are those of the last looks. A table that nobody looked at is the one that was changed last.
    """
    by_table: dict[str, list[LaidOut]] = {}
    for one in layouts:
        by_table.setdefault(one.action.table, []).append(one)
    found: list[LaidOut] = []
    for table, done in by_table.items():
        now = table_ids.get(table) or done[-1].action.table_id
        own = [one for one in done if one.action.table_id == now]
        last = max((n for n, one in enumerate(own) if one.action.action in REWRITING), default=0)
        newest = {(one.action.action, one.action.reason): one for one in own[last:]}
        found += [one for one in own[last:] if one in newest.values()]
    return found


def seen_table_ids(snapshot: Snapshot) -> dict[str, str]:
    """By table: the id that readiness saw last. It is unknown of a table that could never be read."""
    return {seen.table: seen.table_id for seen in snapshot.read(READINESS) if seen.table_id}


def by_runs(layouts: Sequence[LaidOut], run_ids: Collection[str]) -> list[LaidOut]:
    """Those of some runs."""
    return [one for one in layouts if one.action.stamp.run_id in run_ids]
