"""Sizes of the tables that a user's frame reads, from the heads of their logs: milliseconds, and no Spark job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from planopt_assets.delta.log_files import LogFiles
from planopt_assets.engine.user_job.user_session import folders_read
from planopt_assets.errors import TableUnreadable
from planopt_assets.model.location import plain_path

if TYPE_CHECKING:
    from planopt_assets.engine.user_job.user_session import DataFrame
    from planopt_assets.model.workload import Table


def table_sizes(frame: DataFrame, tables: Sequence[Table]) -> tuple[tuple[str, int], ...]:
    """Bytes of each registered table that the frame reads, by name. A table whose log does not tell is left out.

    Delta's own writers note the size after each commit; other writers may not.
    """
    read = set(folders_read(frame))
    return tuple(sorted(_known(t for t in tables if t.path is not None and plain_path(t.path) in read)))


def _known(tables: Iterable[Table]) -> Iterable[tuple[str, int]]:
    for table in tables:
        try:
            log = LogFiles(table.name, str(table.path))
            size = log.checksum(log.newest()).get("tableSizeBytes")
        except TableUnreadable:
            continue
        if isinstance(size, int):
            yield table.name, size
