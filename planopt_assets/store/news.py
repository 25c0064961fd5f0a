"""Which queries have rows that were stored after some numbers: what a sensor has to look at. Reads two columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt_assets.store.sequence import COMPARED

if TYPE_CHECKING:
    from planopt_assets.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class News:
    """Queries with newer rows, and the number that each table ends with."""

    query_ids: frozenset[str]
    newest: Mapping[str, int]


def news_since(snapshot: Snapshot, numbers: Mapping[str, int]) -> News:
    """Rows of the tables that are compared. Rows from before planopt numbered them count as 0.

    Each table by its own number: two tables may end with the same one, written at the same moment by two processes. A
    table that ends below its number is another one than before (deleted, or restored): then all its rows are new.
    """
    import pyarrow.compute as pc

    found: set[str] = set()
    newest = dict[str, int]()
    for name in COMPARED:
        rows = snapshot.table(name, ["query_id", "sequence"])
        stored = pc.fill_null(rows["sequence"], 0)
        last, known = pc.max(stored).as_py() or 0, numbers.get(name, -1)
        new = pc.greater(stored, known if last >= known else -1)
        found.update(pc.unique(rows["query_id"].filter(new)).to_pylist())
        newest[name] = last
    return News(frozenset(found), newest)
