"""The head of a table: its version, and the files it was made of. What a log lost since then is found by it."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from planopt_assets.delta.log_files import LogFiles
from planopt_assets.delta.place import data_files, place
from planopt_assets.delta.refusals import refusal
from planopt_assets.errors import PlanoptError
from planopt_assets.store.head_files import FOLDER, LOG, HeadFile, HeadUnreachable, HeadUnreadable

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from planopt_assets.delta.place import Place


@dataclass(frozen=True, slots=True)
class FileSum:
    """A data file as it was written."""

    rows: int
    size: int
    crc32: int


@dataclass(frozen=True, slots=True)
class TableHead:
    """A table after the last commit that planopt knows of. Files by name."""

    version: int
    files: Mapping[str, FileSum]


def table_head_file(root: str, table: str) -> HeadFile:
    return HeadFile(root, f"{FOLDER}/tables/{table}.json")


def read_table_head(root: str, table: str) -> TableHead | None:
    content = table_head_file(root, table).read()
    if content is None:
        return None
    return TableHead(content["version"], {name: FileSum(*noted) for name, noted in content["files"].items()})


def note_version(root: str, table: str, committed: DeltaTable | None = None) -> None:
    """Remember the version that was just committed. It never fails: a head that stays behind is no damage."""
    import pyarrow as pa
    from deltalake.exceptions import DeltaError

    location = f"{root}/{table}"
    try:
        now = committed or place(location).table()
        known = read_table_head(root, table)
        # A table that lost its end gives its versions a second time: then the head goes back with it.
        if known is None or known.version < now.version() or lost_files(location, known, now):
            write_table_head(root, table, _with(known, location, now))
    except HeadUnreachable as error:
        LOG.warning("the head of %s could not be written: %s", table, error.why)
    except HeadUnreadable as error:
        LOG.warning("%s: run `planopt repair`", error)
    except (OSError, DeltaError, pa.ArrowException, PlanoptError) as error:
        LOG.warning("the head of %s could not be written: %s", table, refusal(error) or error)


def write_table_head(root: str, table: str, head: TableHead) -> None:
    files = {name: (noted.rows, noted.size, noted.crc32) for name, noted in head.files.items()}
    table_head_file(root, table).write({"version": head.version, "files": files})


def new_head(location: str, table: DeltaTable) -> TableHead:
    """The head of a table whose files are all as they were written."""
    return _with(None, location, table)


def _with(known: TableHead | None, location: str, committed: DeltaTable) -> TableHead:
    """The next head. Only files that are new are read; what was lost before stays in it, so that it stays known."""
    sums = known.files if known is not None else {}
    folder = place(location)
    files = {name: sums.get(name) or _file_sum(folder, name) for name in data_files(committed)}
    if known is not None:
        files |= {name: sums[name] for name in lost_files(location, known, committed)}
    return TableHead(committed.version(), files)


def lost_files(location: str, head: TableHead, opened: DeltaTable) -> list[str]:
    """Files of the head that the table no longer has, although no later commit removed them."""
    now = set(data_files(opened))
    missing = [name for name in head.files if name not in now]
    removed = _later(location, head, opened, "remove") if missing else set()
    return [] if removed is None else [name for name in missing if name not in removed]


def returned_files(location: str, head: TableHead, opened: DeltaTable) -> list[str]:
    """Files that the table has, although it had them no more at its head and no later commit added them."""
    others = [name for name in sorted(data_files(opened)) if name not in head.files]
    added = _later(location, head, opened, "add") if others else set()
    return [] if added is None else [name for name in others if name not in added]


def changed_files(folder: Place, head: TableHead, files: Iterable[str], *, whole: bool) -> Iterator[str]:
    """The files that are not what was written: by their size, and with `whole` by their content."""
    sizes = folder.sizes()
    for name in files:
        known = head.files.get(name)
        if known is not None and (sizes.get(name) != known.size or (whole and not fits(folder, name, known))):
            yield name


def fits(folder: Place, name: str, known: FileSum) -> bool:
    """Whether a file has the content that was written."""
    try:
        content = folder.read(name)
    except OSError as error:
        if refusal(error):
            raise
        return False
    return content is not None and len(content) == known.size and zlib.crc32(content) == known.crc32


def _file_sum(folder: Place, name: str) -> FileSum:
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = folder.read(name)
    if content is None:
        raise FileNotFoundError(f"{folder}/{name}")
    rows = pq.read_metadata(pa.BufferReader(content)).num_rows
    return FileSum(rows, len(content), zlib.crc32(content))


def _later(location: str, head: TableHead, opened: DeltaTable, kind: str) -> set[str] | None:
    """The files that commits after the head added or removed. None: some of these commits are deleted."""
    log = LogFiles(location, location)
    versions = range(head.version + 1, opened.version() + 1)
    if not all(map(log.holds, versions)):
        return None
    return {unquote(a[kind]["path"]) for version in versions for a in log.commit_actions(version) if kind in a}
