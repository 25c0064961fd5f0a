"""Opens a table of the store and checks what delta-rs does not: that its log, its files and its head agree.

delta-rs reads an empty commit as one without rows, and a log without its end as an older table. Users' tables get the
same checks of the log. planopt's own have a head besides, which knows the files that were there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt_assets.delta.log_files import LogFiles
from planopt_assets.delta.place import data_files, place
from planopt_assets.delta.refusals import refusal
from planopt_assets.errors import NativeUnusable, StoreUnreachable, StoreUnreadable, TableUnreachable, TableUnreadable
from planopt_assets.errors.store import is_panic
from planopt_assets.model.location import Reach, is_folder, reach
from planopt_assets.store.head_files import HeadUnreachable, HeadUnreadable
from planopt_assets.store.table_heads import changed_files, lost_files, read_table_head, returned_files

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from planopt_assets.store.table_heads import TableHead

REPAIR = (
    "run `planopt repair`. It keeps every row that can be read and everything a person decided, "
    "and moves the damaged table to `_damaged` in the store"
)
REPAIR_A_COPY = (
    "copy the whole store to a folder, point `store:` at the copy, run `planopt repair` there, and copy it back while "
    "nothing else runs: only a folder can be repaired"
)
REACH = "check the address, the credentials in the environment and the access, then run again: no damage is known"

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
    """A table as delta-rs opens it. None: it was never written, or is damaged, which is told to those who read rows.

    Object storage that does not answer is an error: nobody knows what the table holds.
    """
    from deltalake.exceptions import DeltaError

    try:
        return place(f"{root}/{name}").found_table()
    except (DeltaError, OSError, ValueError) as error:
        if reach(root) is Reach.OBJECTS and (why := refusal(error)):
            raise unreached(root, name, why) from error
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
    folder = place(f"{root}/{name}")
    small = sum(noted.size for noted in found.head.files.values()) <= COMPARED_BYTES
    whole = whole or (is_folder(root) and (name in DECIDING or small))
    changed = []
    try:
        for file in changed_files(folder, found.head, files, whole=whole):
            if name not in HEADS_OF_THEIR_OWN:
                rows = found.head.files[file].rows
                how = "is not what was written" if file in folder.sizes() else "is gone"
                raise unreadable(root, name, f"{folder}/{file} {how}: {rows} rows are lost")
            changed.append(file)
    except OSError as error:
        raise unread(root, name, first_line(error), error) from error
    return Sound(found.table, [file for file in files if file not in changed], (*found.lost, *changed))


def open_checked(root: str, name: str, *, by_head: bool = True) -> Opened:
    """A table with its head, after all checks that need no data file; `by_head` False: as if it had none."""
    from deltalake.exceptions import DeltaError

    location = f"{root}/{name}"
    folder = place(location)
    try:
        # Before the table: what is written meanwhile is no damage.
        head = read_table_head(root, name) if by_head and folder.keeps_files else None
        if not folder.has_table():
            if head is None:
                return Opened(None)
            raise unreadable(root, name, f"{location} is gone, with {_rows(head)} rows")
        log = LogFiles(name, location)
        log.commits(log.newest())
        table = folder.table()
        if head is None:
            return Opened(table)
        lost, returned = lost_files(location, head, table), returned_files(location, head, table)
    except HeadUnreachable as error:
        raise unreached(root, name, error.why) from error
    except TableUnreachable as error:
        raise unreached(root, name, error.what) from error
    except HeadUnreadable as error:
        raise unreadable(root, name, f"{error}, so nobody knows whether rows are lost") from error
    except TableUnreadable as error:
        file = f" ({location}/{error.file})" if error.file else ""
        raise unreadable(root, name, f"{error.what}{file}; the rows it added are lost") from error
    except (DeltaError, OSError, ValueError) as error:
        if why := refusal(error):
            raise unreached(root, name, why) from error
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


def unreadable(root: str, name: str, what: str) -> StoreUnreadable:
    fix = REPAIR if is_folder(root) else REPAIR_A_COPY
    return StoreUnreadable(f"table {name} cannot be read: {what}", where=root, fix=fix)


def unreached(root: str, name: str, why: str) -> StoreUnreachable:
    return StoreUnreachable(f"table {name} was not read: {why}", where=root, fix=REACH)


def unread(root: str, name: str, what: str, error: BaseException) -> StoreUnreadable:
    """What an error while reading means: storage that did not answer, or damage."""
    why = refusal(error)
    return unreached(root, name, why) if why else unreadable(root, name, what)


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
