"""The source tables as a run read them: version, size, and the queries that read them. From stored rows alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt_assets.model.scan import Size
from planopt_assets.store.codecs.observing import SCANS

if TYPE_CHECKING:
    from planopt_assets.loop.run import Run
    from planopt_assets.model.inputs import PinnedTable
    from planopt_assets.model.scan_record import ScanRecord


@dataclass(frozen=True, slots=True)
class TableRead:
    """A source table at the version a run read."""

    table: PinnedTable
    size: Size
    readers: tuple[str, ...]  # ids of all queries of the workload that read it, not only those of the run


def tables_read(run: Run, query_ids: Collection[str]) -> list[TableRead]:
    """The tables of these queries, by name. Of a query that did not run, nobody knows what it reads."""
    standings = run.standings()
    readers: dict[str, list[str]] = {}
    for query_id, standing in standings.items():
        for name in dict.fromkeys(t.name for a in standing.artifacts if a.captured for t in a.tables):
            readers.setdefault(name, []).append(query_id)
    artifacts = [a for q in query_ids for a in standings[q].artifacts if a.captured]
    tables = {t.name: t for a in artifacts for t in a.tables}
    scans = run.snapshot.read(SCANS, observation_id=[a.observation_id for a in artifacts]) if artifacts else []
    return [
        TableRead(table, size_of(s for s in scans if s.table == name), tuple(readers[name]))
        for name, table in sorted(tables.items())
    ]


def size_of(scans: Iterable[ScanRecord]) -> Size:
    """The whole table as its scans saw it. Delta counts its rows only under a filter; without one all rows are read."""
    size = Size()
    for scan in scans:
        total, read = scan.funnel.total, scan.funnel.read
        whole = not scan.pushed_filters and not scan.runtime_filters and None is not read.files == total.files
        rows = total.rows if total.rows is not None else read.rows if whole else None
        size = Size(
            total.files if size.files is None else size.files,
            total.bytes if size.bytes is None else size.bytes,
            rows if size.rows is None else size.rows,
        )
    return size
