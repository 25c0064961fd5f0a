"""Opens a table of the store and checks what delta-rs does not: that its log, its files and its head agree.

delta-rs reads an empty commit as one without rows, and a log without its end as an older table. Users' tables get the
same checks of the log. planopt's own have a head besides, which knows the files that were there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from planopt_assets.delta.log_files import LogFiles
from planopt_assets.errors import NativeUnusable, StoreUnreadable, TableUnreadable
from planopt_assets.errors.store import is_panic
from planopt_assets.store.head_files import HeadUnreadable, on_files
from planopt_assets.store.table_heads import changed_file, lost_files, read_table_head, returned_files

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from planopt_assets.store.table_heads import TableHead

REPAIR = (
    "run `planopt repair`. It keeps every row that can be read and everything a person decided, "
    "and moves the damaged table to `_damaged` in the store"
)
ONLY_A_FILE_SYSTEM = "restore the table from a backup: `planopt repair` needs a store on a file system"

DECIDING = frozenset({"active_policies", "verdicts"})
"""What is in force rests on these. Their files are compared with their checksums at every read."""
COMPARED_BYTES = 4 * 1024**2
"""Files of another table are, too, up to this size, which takes 4 ms. Of a larger one only the sizes are compared."""

HEADS_OF_THEIR_OWN = frozenset({"active_policies"})
"""Tables in which each query has a head: what is lost there stops the queries that lost it, and no other."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A table at its newest version. None: it was never written."""

    table: DeltaTable | None
    head: TableHead | None = None
    lost: tuple[str, ...] = ()  # files that its head knows and its log does not


def opened(root: str, name: str) -> DeltaTable | None:
    """The newest version of a table. A damaged one is an error."""
    return open_checked(root, name).table


def unchecked(root: str, name: str) -> DeltaTable | None:
    """A table as delta-rs opens it. None: it was never written, or is damaged, which is told to those who read rows."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    location = f"{root}/{name}"
    try:
        exists = (Path(location) / "_delta_log").is_dir() if on_files(root) else DeltaTable.is_deltatable(location)
        return DeltaTable(location) if exists else None
    except (DeltaError, OSError, ValueError):
        return None
    except BaseException as error:
        if not is_panic(error):
            raise
        return None


@dataclass(frozen=True, slots=True)
class Sound:
    """A table whose files were compared with what was written: those that may be read, and those that are lost.

    Files are lost only where each query has a head of its own. In any other table a lost file is an error.
    """

    table: DeltaTable | None
    files: list[str]
    lost: tuple[str, ...] = ()


def open_sound(root: str, name: str, *, whole: bool = False, by_head: bool = True) -> Sound:
    """A table at its newest version, with its data files compared: by size, or `whole` by content."""
    found = open_checked(root, name, by_head=by_head)
    files = [] if found.table is None else data_files(found.table)
    if found.head is None:
        return Sound(found.table, files)
    lost = list(found.lost)
    whole = whole or name in DECIDING or sum(noted.size for noted in found.head.files.values()) <= COMPARED_BYTES
    while (changed := changed_file(found.head, map(Path, files), whole=whole)) is not None:
        if name not in HEADS_OF_THEIR_OWN:
            rows = found.head.files[changed.name].rows
            how = "is not what was written" if changed.exists() else "is gone"
            raise unreadable(root, name, f"{changed} {how}: {rows} rows are lost")
        files.remove(str(changed))
        lost.append(changed.name)
    return Sound(found.table, files, tuple(lost))


def open_checked(root: str, name: str, *, by_head: bool = True) -> Opened:
    """A table with its head, after all checks that need no data file; `by_head` False: as if it had none."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    location = f"{root}/{name}"
    try:
        if not on_files(root):
            return Opened(DeltaTable(location) if DeltaTable.is_deltatable(location) else None)
        # Before the table: what is written meanwhile is no damage.
        head = read_table_head(root, name) if by_head else None
        if not (Path(location) / "_delta_log").is_dir():
            if head is None:
                return Opened(None)
            raise unreadable(root, name, f"{location} is gone, with {_rows(head)} rows")
        log = LogFiles(name, location)
        log.commits(log.newest())
        table = DeltaTable(location)
        if head is None:
            return Opened(table)
        lost, returned = lost_files(location, head, table), returned_files(location, head, table)
    except HeadUnreadable as error:
        raise unreadable(root, name, f"{error}, so nobody knows whether rows are lost") from error
    except TableUnreadable as error:
        file = f" ({location}/{error.file})" if error.file else ""
        raise unreadable(root, name, f"{error.what}{file}; the rows it added are lost") from error
    except (DeltaError, OSError, ValueError) as error:
        raise unreadable(root, name, _blamed(name, location, error)) from error
    except BaseException as error:
        if not is_panic(error):
            raise
        if "fork" in str(error).lower():  # the store is sound: delta-rs works in no child of a process that used it
            raise NativeUnusable.by(error) from error
        raise unreadable(root, name, _blamed(name, location, error)) from error
    if returned:
        raise unreadable(root, name, f"its log names {location}/{returned[0]} again, which another file replaced")
    if lost and name not in HEADS_OF_THEIR_OWN:
        rows = sum(head.files[file].rows for file in lost)
        raise unreadable(root, name, f"its log no longer names {location}/{lost[0]}: {rows} rows are lost")
    return Opened(table, head, tuple(lost))


def data_files(table: DeltaTable) -> list[str]:
    """The files of a table's version as Arrow wants them: plain paths on a file system, addresses elsewhere."""
    local = ("/", "file://")
    return [unquote(u.removeprefix("file://")) if u.startswith(local) else u for u in table.file_uris()]


def unreadable(root: str, name: str, what: str) -> StoreUnreadable:
    fix = REPAIR if on_files(root) else ONLY_A_FILE_SYSTEM
    return StoreUnreadable(f"table {name} cannot be read: {what}", where=root, fix=fix)


def first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def _blamed(name: str, location: str, error: BaseException) -> str:
    """Which file of the log it is, where a commit is no JSON."""
    try:
        log = LogFiles(name, location)
        for version in log.commits(log.newest()):
            for _ in log.commit_actions(version):
                pass
    except TableUnreadable as found:
        if found.file:
            return f"{location}/{found.file}: {first_line(error)}; the rows it added are lost"
    return f"{location}/_delta_log: {first_line(error)}; its rows are lost"


def _rows(head: TableHead) -> int:
    return sum(noted.rows for noted in head.files.values())
