"""Compacts planopt's own tables: many small files become one, and no row changes. The tables stay fast to open.

Each run appends a file to about ten tables, each run of a user's job to two. delta-rs has a compaction, but two of them
at once write every row twice: the second does not see that its files are gone. So a table is rewritten as it was at one
version, and the commit must be the very next version. If another commit came first, the rewrite is dropped, and the
table waits for the next run.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt_assets.delta.place import data_files, place, place_of
from planopt_assets.delta.refusals import refusal
from planopt_assets.errors import StoreUnreachable, StoreUnreadable
from planopt_assets.errors.store import is_panic
from planopt_assets.model.location import Reach, reach
from planopt_assets.store.opened import open_sound, opened
from planopt_assets.store.schemas import TABLES
from planopt_assets.store.table_heads import note_version
from planopt_assets.store.write_profile import FILE_BYTES, writer_properties

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyarrow.compute import Expression

LOG = logging.getLogger("planopt")
MOST_SMALL_FILES = 64
SMALL_BYTES = 4 * 1024**2
LARGEST_BYTES = 256 * 1024**2  # of a table: rewriting a larger one costs more than its small files do
KEPT_HOURS = 7 * 24  # an unused file is kept this long, for readers that started before


@dataclass(frozen=True, slots=True)
class Compacted:
    """The result for one table."""

    table: str
    files_before: int
    files_after: int
    deleted: int  # files of older versions


def compact_store(root: str, most: int = MOST_SMALL_FILES, kept_hours: int = KEPT_HOURS) -> list[Compacted]:
    """Compact every table with too many small files. It never fails: a store with small files is slower, not wrong.

    It needs no Spark, and leaves alone a store that only Spark writes. Old files are not needed, because planopt never
    reads an older version of its tables.
    """
    from deltalake.exceptions import DeltaError

    if reach(root) is Reach.HADOOP:
        return []
    found: list[Compacted] = []
    for name in TABLES:
        try:
            done = _compacted(root, name, most, kept_hours)
        except BaseException as error:
            if not (isinstance(error, StoreUnreadable | DeltaError | OSError) or is_panic(error)):
                raise
            unreached = refusal(error)
            words = unreached or str(error).strip().partition("\n")[0][:300]
            LOG.info("%s is not compacted this time: %s", name, words)
            if unreached or isinstance(error, StoreUnreachable):  # nor is any other
                return found
            continue
        if done is not None:
            LOG.debug("%s: %d files are %d now, %d old ones deleted", name, *done)
            found.append(Compacted(name, *done))
    return found


def _compacted(root: str, name: str, most: int, kept_hours: int) -> tuple[int, int, int] | None:
    folder = place(f"{root}/{name}")
    if sum(file.endswith(".parquet") for file in folder.sizes()) <= most:  # a table has no more files than its folder
        return None
    table = opened(root, name)
    if table is None:
        return None
    sizes = _sizes(table)
    if sum(size < SMALL_BYTES for size in sizes) <= most:
        return None
    if sum(sizes) > LARGEST_BYTES:
        LOG.info("%s has %d files, and is too large to be compacted here: run OPTIMIZE on it", name, len(sizes))
        return None
    if open_sound(root, name, whole=True).lost:  # `planopt repair` needs every file
        return None
    write_anew(table)
    table = committed(root, name)
    return len(sizes), len(table.file_uris()), _delete_old(table, kept_hours)


def committed(root: str, name: str) -> DeltaTable:
    """A table right after it was written anew: its head and its log follow."""
    table = place(f"{root}/{name}").table()
    note_version(root, name, table)
    table.create_checkpoint()
    return table


def write_anew(table: DeltaTable, keep: Expression | None = None) -> None:
    """The same rows in the same order, or those to keep. All columns stay: a newer planopt may have added some.

    It is the very next version of the table, or a conflict.
    """
    import pyarrow as pa
    from deltalake import CommitProperties, PostCommitHookProperties, write_deltalake

    files = place_of(table).dataset(data_files(table), pa.schema(table.schema().to_arrow()))
    write_deltalake(
        table,
        files.scanner(filter=keep).to_reader(),
        mode="overwrite",
        commit_properties=CommitProperties(max_commit_retries=0),
        post_commithook_properties=PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False),
        target_file_size=FILE_BYTES,
        writer_properties=writer_properties(),
    )


def _delete_old(table: DeltaTable, kept_hours: int) -> int:
    """Delete files that no recent version uses. A deletion makes two commits, so only if there are such files."""
    if not table.vacuum(kept_hours, dry_run=True, enforce_retention_duration=False, full=True):
        return 0
    return len(table.vacuum(kept_hours, dry_run=False, enforce_retention_duration=False, full=True))


def _sizes(table: DeltaTable) -> list[int]:
    import pyarrow as pa

    return [int(size) for size in pa.table(table.get_add_actions(flatten=True))["size_bytes"].to_pylist()]
