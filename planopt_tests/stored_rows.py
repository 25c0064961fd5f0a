"""The rows of a store as plain dicts: what a test sees is what the tables hold, whatever planopt makes of it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from planopt_assets.loop.run import Run
from planopt_assets.store.snapshot import Snapshot


class StoredRows:
    """Reads the newest version each time it is asked."""

    def __init__(self, root: str, workload: str) -> None:
        self.root, self.workload = root, workload

    @staticmethod
    def of(run: Run) -> StoredRows:
        return StoredRows(run.workload.store, run.workload.name)

    def table(self, name: str, columns: list[str] | None = None, **equals: str) -> pa.Table:
        return Snapshot(self.root, self.workload).table(name, columns, **equals)

    def version(self, name: str) -> int:
        return Snapshot(self.root, self.workload).version(name)

    def rows(self, name: str, columns: list[str] | None = None, **equals: str) -> list[dict[str, Any]]:
        return self.table(name, columns, **equals).to_pylist()
