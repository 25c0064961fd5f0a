"""Reads the store without Spark, through delta-rs and Arrow: nouns by codec, from one version of each table."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from planopt_assets.delta.place import place
from planopt_assets.delta.refusals import refusal
from planopt_assets.errors import StoreTooNew, StoreUnreadable
from planopt_assets.store.codecs.damage import EVERY_ROW
from planopt_assets.store.opened import first_line, open_sound, opened, unreached, unreadable
from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES

if TYPE_CHECKING:
    from planopt_assets.delta.place import Place
    from planopt_assets.store.codecs.codec import Codec
    from planopt_assets.store.opened import Sound

T = TypeVar("T")
ORDER = ("sequence", "recorded_at")
Wanted = str | bool | Collection[str] | None
"""What a column must hold: this value, or one of these; None: anything."""
_IN_FEW_FILES = ("input_fingerprint",)
"""Rows of one input were stored by few runs: two columns tell which files have them, before all columns are read."""


def _oldest_first(rows: pa.Table) -> pa.Array:
    """The places of the rows by commit. Those that are older than this column come first, by their clock."""
    import pyarrow.compute as pc

    keys = pa.table({"commit": pc.fill_null(rows["sequence"], 0), "clock": rows["recorded_at"]})
    return pc.sort_indices(keys, sort_keys=[("commit", "ascending"), ("clock", "ascending")])


class Snapshot:
    """The rows of one workload. Each table is opened once, when first asked for; one not written yet is empty.

    A store that a newer planopt wrote is an error, since what is written to it would be of an older form. Who will only
    read (`only_read`) gets the columns that this planopt knows, which is what columns are only ever added for.
    """

    def __init__(self, root: str, workload: str, *, only_read: bool = False) -> None:
        self.root = root
        self.workload = workload
        self.newest_schema = SCHEMA_VERSION  # of all rows so far; above ours only where nothing will be written
        self._only_read = only_read
        self._opened: dict[str, Sound] = {}
        self._made: dict[str, Any] = {}

    def read(self, codec: Codec[T], **wanted: Wanted) -> list[T]:
        """The nouns of a table, oldest first; only the columns that the noun is made of are read."""
        columns = list(dict.fromkeys([*codec.columns, *EVERY_ROW]))
        return codec.decode(self.table(codec.table, columns, **wanted))

    def table(self, name: str, columns: list[str] | None = None, **wanted: Wanted) -> pa.Table:
        """The same rows as Arrow: filtered by the values of columns, oldest first."""
        import pyarrow.compute as pc

        schema = TABLES[name]
        files = self._open(name).files
        some = [value for value in wanted.values() if value is not None and not isinstance(value, str | bool)]
        if not files or not all(some):
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
            folder = place(f"{self.root}/{name}")
            if not wanted.keys().isdisjoint(_IN_FEW_FILES):
                has_one = (f for f in files if folder.dataset([f], schema).count_rows(filter=keep))
                files = list(has_one) or files[:1]
            # For some rows of a table, threads take twice the CPU and little less time.
            found = folder.dataset(files, schema).to_table(columns=asked, filter=keep, use_threads=not some)
        except (OSError, pa.ArrowException) as error:
            raise self._unreadable(name, error) from error
        newest = pc.max(found["schema_version"]).as_py() or 0  # a row that has none is found when it is decoded
        self.newest_schema = max(self.newest_schema, newest)
        if not self._only_read:
            refuse_newer(self.root, name, found["schema_version"])
        return found.take(_oldest_first(found)).select(columns or schema.names)

    def refuse_newer_rows(self) -> None:
        """Ask every table: for who changes something else than the store first, and would learn of them too late."""
        for name in TABLES:
            self.table(name, ["schema_version"])

    def once(self, key: str, make: Callable[[], T]) -> T:
        """What is computed from this snapshot, kept under a key: several who ask get the same answer."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    def has_made(self, key: str) -> bool:
        return key in self._made

    @property
    def files(self) -> dict[str, list[str]]:
        """The files of every table that was asked for so far. A file never changes: the same files, the same rows."""
        return {name: sorted(opened.files) for name, opened in self._opened.items()}

    def version(self, name: str) -> int:
        """The newest version of a table now, -1 where it does not exist."""
        table = opened(self.root, name)
        return -1 if table is None else table.version()

    def lost(self, name: str) -> tuple[str, ...]:
        """Files that the table once had. Not empty only where each query can be checked by a head of its own."""
        return self._open(name).lost

    def transaction(self, name: str, app_id: str) -> int:
        """The last version of an application's transactions that the table remembers, 0 where it knows none."""
        table = self._open(name).table
        return 0 if table is None else table.transaction_version(app_id) or 0

    def _open(self, name: str) -> Sound:
        if name not in self._opened:
            self._opened[name] = open_sound(self.root, name)
        return self._opened[name]

    def _unreadable(self, name: str, error: Exception) -> StoreUnreadable:
        """Which file it is, Arrow does not always say."""
        if why := refusal(error):
            return unreached(self.root, name, why)
        files = self._open(name).files
        folder = place(f"{self.root}/{name}")
        file = next((f for f in files if not _can_be_read(folder, f, name)), files[0])
        return unreadable(self.root, name, f"{folder}/{file}, and its rows are lost: {first_line(error)}")


def refuse_newer(root: str, name: str, versions: pa.ChunkedArray) -> None:
    """An error if any of these schema versions is beyond ours: whoever writes would write rows of an older form."""
    import pyarrow.compute as pc

    newest = pc.max(versions).as_py() or 0
    if newest > SCHEMA_VERSION:
        raise StoreTooNew(
            f"table {name} holds rows of schema version {newest}, this planopt knows {SCHEMA_VERSION}",
            where=root,
            fix="upgrade planopt, or point `store:` at another folder; commands that only read still work",
        )


def _can_be_read(folder: Place, file: str, name: str) -> bool:
    try:
        folder.dataset([file], TABLES[name]).to_table()
    except (OSError, pa.ArrowException):
        return False
    return True
