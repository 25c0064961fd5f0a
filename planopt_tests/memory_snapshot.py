"""A snapshot of rows that stand in no file: what planopt reads is what a test has written down."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from planopt_assets.model.stamp import NOT_STORED
from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES
from planopt_assets.store.snapshot import Snapshot, Wanted

Row = dict[str, Any]
_EVERY_ROW: Row = {"schema_version": SCHEMA_VERSION, "recorded_at": NOT_STORED.recorded_at}


class MemorySnapshot(Snapshot):
    """Rows by table, oldest first; it remembers which tables were asked for."""

    def __init__(self, **tables: list[Row]) -> None:
        super().__init__("memory://", "demo")
        self.tables = tables
        self.asked: list[str] = []

    def table(self, name: str, columns: list[str] | None = None, **wanted: Wanted) -> pa.Table:
        self.asked.append(name)
        found = [row for row in self.tables.get(name, []) if all(_fits(row.get(c), w) for c, w in wanted.items())]
        known = [_EVERY_ROW | {c: v for c, v in row.items() if c in TABLES[name].names} for row in found]
        return pa.Table.from_pylist(known, schema=TABLES[name]).select(columns or TABLES[name].names)

    def lost(self, name: str) -> tuple[str, ...]:
        return ()


def _fits(value: Any, wanted: Wanted) -> bool:
    return wanted is None or (value == wanted if isinstance(wanted, str | bool) else value in wanted)
