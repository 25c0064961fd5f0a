"""In which order a night works: what gains most first, then what was looked at longest ago."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.loop.histories import artifacts_of
from planopt_assets.model.stamp import NOT_STORED

if TYPE_CHECKING:
    from planopt_assets.loop.agenda import Agenda
    from planopt_assets.store.snapshot import Snapshot


def sweep_order(agenda: Agenda, snapshot: Snapshot) -> list[str]:
    """The queries with something to do.

    A query without a promise has to be observed first. Those never seen come first, then by age: a budget that ends
    every night at the same place would never reach the rest.
    """
    last = {a.query_id: a.stamp for a in artifacts_of(snapshot, None)}  # oldest first, so the newest stays
    order = {query: place for place, query in enumerate(agenda.queries)}
    ranks = {item.query_id: item.promise.rank for item in agenda.items}

    def place(query: str) -> tuple[float, int, float, int]:
        stamp = last.get(query, NOT_STORED)
        return -ranks[query], stamp.sequence, stamp.recorded_at.timestamp(), order[query]

    return sorted(agenda.queries, key=place)
