"""Keeps planopt's own tables quick to open: many small files become one, and not a row changes.

Each run appends a file to about ten tables, and each run of a user's job one to two of them. delta-rs has a compaction,
but two of them at once write every row twice: the second does not see that its files are gone. So a table is written
anew as it was at one version, and that commit stands only as the very next version. Whoever wrote in between wins, and
the table waits for the next run.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from planopt_assets.store.schemas import TABLES
from planopt_assets.store.snapshot import data_files

if TYPE_CHECKING:
    from deltalake import DeltaTable

LOG = logging.getLogger("planopt")
MOST_SMALL_FILES = 64
SMALL_BYTES = 4 * 1024**2
LARGEST_BYTES = 256 * 1024**2  # of a table: a larger one takes longer than its small files cost
KEPT_HOURS = 7 * 24  # a file no version needs any more stays this long, for whoever began to read it before


@dataclass(frozen=True, slots=True)
class Compacted:
    """What became of one table."""

    table: str
    files_before: int
    files_after: int
    deleted: int  # files of older versions


def compact_store(root: str, most: int = MOST_SMALL_FILES, kept_hours: int = KEPT_HOURS) -> list[Compacted]:
    """Compact every table with more than so many small files; never fails: an untidy store is slower, not wrong.

    Needs no Spark, and only does it for stores on a file system: elsewhere delta-rs may have no access. Old files are
    not needed, as nothing reads an older version of a table.
    """
    from deltalake.exceptions import DeltaError

    if "://" in root:
        return []
    found = []
    for name in TABLES:
        path = Path(root) / name
        if not (path / "_delta_log").is_dir():
            continue
        try:
            done = _compacted(path, most, kept_hours)
        except (DeltaError, OSError) as error:
            LOG.info("%s is not compacted this time: %s", name, str(error).strip().splitlines()[0][:300])
            continue
        if done is not None:
            LOG.debug("%s: %d files are %d now, %d old ones deleted", name, *done)
            found.append(Compacted(name, *done))
    return found


def _compacted(path: Path, most: int, kept_hours: int) -> tuple[int, int, int] | None:
    from deltalake import DeltaTable

    table = DeltaTable(str(path))
    sizes = _sizes(table)
    if sum(size < SMALL_BYTES for size in sizes) <= most:
        return None
    if sum(sizes) > LARGEST_BYTES:
        LOG.info("%s has %d files, and is too large to be compacted here: run OPTIMIZE on it", path.name, len(sizes))
        return None
    _write_anew(table)
    table = DeltaTable(str(path))
    table.create_checkpoint()
    return len(sizes), len(table.file_uris()), _delete_old(table, kept_hours)


def _write_anew(table: DeltaTable) -> None:
    """The same rows, in the same order, with the columns of the table: a newer planopt may have added some."""
    import pyarrow as pa
    import pyarrow.dataset as ds
    from deltalake import CommitProperties, PostCommitHookProperties, write_deltalake

    files = ds.dataset(data_files(table), schema=pa.schema(table.schema().to_arrow()), format="parquet")
    write_deltalake(
        table,
        files.scanner().to_reader(),
        mode="overwrite",
        commit_properties=CommitProperties(max_commit_retries=0),  # the very next version, or a conflict
        post_commithook_properties=PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False),
    )


def _delete_old(table: DeltaTable, kept_hours: int) -> int:
    """Files that no version of the last days holds; each deletion is two commits, so only where there are some."""
    if not table.vacuum(kept_hours, dry_run=True, enforce_retention_duration=False, full=True):
        return 0
    return len(table.vacuum(kept_hours, dry_run=False, enforce_retention_duration=False, full=True))


def _sizes(table: DeltaTable) -> list[int]:
    import pyarrow as pa

    return [int(size) for size in pa.table(table.get_add_actions(flatten=True))["size_bytes"].to_pylist()]
