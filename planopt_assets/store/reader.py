"""Reads the store without Spark, through delta-rs and Arrow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from planopt_assets.errors import StoreTooNew, StoreUnreadable
from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES

if TYPE_CHECKING:
    from deltalake import DeltaTable


def data_files(table: DeltaTable) -> list[str]:
    """The files of a table's version as Arrow wants them: plain paths on a file system, addresses elsewhere."""
    local = ("/", "file://")
    return [unquote(u.removeprefix("file://")) if u.startswith(local) else u for u in table.file_uris()]


class StoreReader:
    """The newest version of every table of one workload's store; a table not written yet is empty."""

    def __init__(self, root: str, workload: str) -> None:
        self.root = root
        self.workload = workload

    def table(self, name: str, columns: list[str] | None = None, **equals: str) -> pa.Table:
        """Rows of this workload, filtered by equal column values, oldest first."""
        import pyarrow.compute as pc
        import pyarrow.dataset as ds

        schema = TABLES[name]
        files = self._files(name)
        if not files:
            return schema.empty_table().select(columns or schema.names)
        keep = pc.field("workload") == self.workload
        for column, value in equals.items():
            keep &= pc.field(column) == value
        # Not to_pyarrow_dataset(): with it the process may abort at exit.
        wanted = list(dict.fromkeys([*(columns or schema.names), "schema_version", "recorded_at"]))
        try:
            found = ds.dataset(files, schema=schema, format="parquet").to_table(columns=wanted, filter=keep)
        except (OSError, pa.ArrowException) as error:
            raise self._unreadable(name, error) from error
        newest = pc.max(found["schema_version"]).as_py() if found.num_rows else 0
        if newest > SCHEMA_VERSION:
            raise StoreTooNew(
                f"table {name} holds rows of schema version {newest}, this planopt knows {SCHEMA_VERSION}",
                where=self.root,
                fix="upgrade planopt, or point `store:` at another folder",
            )
        return found.sort_by([("recorded_at", "ascending")]).select(columns or schema.names)

    def rows(self, name: str, columns: list[str] | None = None, **equals: str) -> list[dict[str, Any]]:
        """The same rows as dicts, for the few that belong to one query."""
        return self.table(name, columns, **equals).to_pylist()

    def version(self, name: str) -> int:
        """The version of a table, -1 where it does not exist."""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        if not self._exists(name):
            return -1
        try:
            return DeltaTable(self._path(name)).version()
        except (DeltaError, OSError) as error:
            raise self._unreadable(name, error) from error

    def _files(self, name: str) -> list[str]:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        if not self._exists(name):
            return []
        try:
            return data_files(DeltaTable(self._path(name)))
        except (DeltaError, OSError) as error:
            raise self._unreadable(name, error) from error

    def _unreadable(self, name: str, error: Exception) -> StoreUnreadable:
        return StoreUnreadable(
            f"table {name} cannot be read: {str(error).splitlines()[0]}",
            where=self.root,
            fix=f"move {name} away to start it anew, or restore it; nothing else reads it",
        )

    def _exists(self, name: str) -> bool:
        from deltalake import DeltaTable

        if "://" not in self.root:
            return (Path(self._path(name)) / "_delta_log").is_dir()
        return DeltaTable.is_deltatable(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}"
