"""Reads the store without Spark, through delta-rs and Arrow: nouns by codec, from one version of each table."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

import pyarrow as pa

from planopt_assets.errors import StoreTooNew, StoreUnreadable
from planopt_assets.store.codecs.damage import EVERY_ROW
from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from planopt_assets.store.codecs.codec import Codec

T = TypeVar("T")
ORDER = ("sequence", "recorded_at")
Wanted = str | bool | Collection[str] | None
"""What a column must hold: this value, or one of these; None: anything."""


def data_files(table: DeltaTable) -> list[str]:
    """The files of a table's version as Arrow wants them: plain paths on a file system, addresses elsewhere."""
    local = ("/", "file://")
    return [unquote(u.removeprefix("file://")) if u.startswith(local) else u for u in table.file_uris()]


def _oldest_first(rows: pa.Table) -> pa.Array:
    """The places of the rows by commit. Those that are older than this column come first, by their clock."""
    import pyarrow.compute as pc

    keys = pa.table({"commit": pc.fill_null(rows["sequence"], 0), "clock": rows["recorded_at"]})
    return pc.sort_indices(keys, sort_keys=[("commit", "ascending"), ("clock", "ascending")])


class Snapshot:
    """The rows of one workload. Each table is opened once, when first asked for; one not written yet is empty."""

    def __init__(self, root: str, workload: str) -> None:
        self.root = root
        self.workload = workload
        self._files: dict[str, list[str]] = {}
        self._made: dict[str, Any] = {}

    def read(self, codec: Codec[T], **wanted: Wanted) -> list[T]:
        """The nouns of a table, oldest first; only the columns that the noun is made of are read."""
        columns = list(dict.fromkeys([*codec.columns, *EVERY_ROW]))
        return codec.decode(self.table(codec.table, columns, **wanted))

    def table(self, name: str, columns: list[str] | None = None, **wanted: Wanted) -> pa.Table:
        """The same rows as Arrow: filtered by the values of columns, oldest first."""
        import pyarrow.compute as pc
        import pyarrow.dataset as ds

        schema = TABLES[name]
        files = self._data_files(name)
        if not files:
            return schema.empty_table().select(columns or schema.names)
        keep = pc.field("workload") == self.workload
        for column, value in wanted.items():
            if isinstance(value, str | bool):
                keep &= pc.field(column) == value
            elif value is not None:
                keep &= pc.field(column).isin(pa.array(sorted(value), pa.string()))
        # Not to_pyarrow_dataset(): with it the process may abort at exit.
        asked = list(dict.fromkeys([*(columns or schema.names), "schema_version", *ORDER]))
        try:
            found = ds.dataset(files, schema=schema, format="parquet").to_table(columns=asked, filter=keep)
        except (OSError, pa.ArrowException) as error:
            raise self._unreadable(name, error) from error
        newest = pc.max(found["schema_version"]).as_py() or 0  # a row that has none is found when it is decoded
        if newest > SCHEMA_VERSION:
            raise StoreTooNew(
                f"table {name} holds rows of schema version {newest}, this planopt knows {SCHEMA_VERSION}",
                where=self.root,
                fix="upgrade planopt, or point `store:` at another folder",
            )
        return found.take(_oldest_first(found)).select(columns or schema.names)

    def once(self, key: str, make: Callable[[], T]) -> T:
        """What is computed from this snapshot, kept under a key: several who ask get the same answer."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    def has_made(self, key: str) -> bool:
        return key in self._made

    def version(self, name: str) -> int:
        """The newest version of a table now, -1 where it does not exist."""
        table = self._open(name)
        return -1 if table is None else table.version()

    def _data_files(self, name: str) -> list[str]:
        if name not in self._files:
            table = self._open(name)
            self._files[name] = [] if table is None else data_files(table)
        return self._files[name]

    def _open(self, name: str) -> DeltaTable | None:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        path = f"{self.root}/{name}"
        local = "://" not in self.root
        try:
            exists = (Path(path) / "_delta_log").is_dir() if local else DeltaTable.is_deltatable(path)
            return DeltaTable(path) if exists else None
        except (DeltaError, OSError) as error:
            raise self._unreadable(name, error) from error

    def _unreadable(self, name: str, error: Exception) -> StoreUnreadable:
        return StoreUnreadable(
            f"table {name} cannot be read: {str(error).splitlines()[0]}",
            where=self.root,
            fix=f"move {name} away to start it anew, or restore it; nothing else reads it",
        )
