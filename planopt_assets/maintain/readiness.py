"""Readiness: is the table itself in the way of its queries? All of it from the log, without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median_low

from planopt_assets.maintain.file_sizes import compaction_bins, size_classes, small_below, target_file_bytes
from planopt_assets.maintain.findings import findings
from planopt_assets.maintain.growth import growth
from planopt_assets.maintain.overlap import overlap_depth
from planopt_assets.maintain.retention import FILES, LOG, hours
from planopt_assets.model.data_file import DataFile, TableLog
from planopt_assets.model.table_facts import Protocol, TableFacts
from planopt_assets.model.table_readiness import (
    ColumnReadiness,
    Integrity,
    ReadinessFinding,
    TableReadiness,
)

READINESS_VERSION = "5"
"""Up when readiness or proposals say something else about the same table."""

Uses = Mapping[str, tuple[str, ...]]
"""Columns that queries filter or join on, with these queries."""


def table_readiness(
    facts: TableFacts,
    log: TableLog,
    *,
    uses: Uses,
    read_by: Sequence[str],
    cores: int,
    now_ms: int,
    pinned: Sequence[int] = (),
    unknown_reader_features: tuple[str, ...] = (),
    unknown_writer_features: tuple[str, ...] = (),
    before: TableReadiness | None = None,
) -> TableReadiness:
    """One table at one version. `before` is what was last stored of it, `pinned` are versions that evidence rests on.

    Worked: 120 files of 0.2 MB hold 24 MB. On 2 cores files should have 8 MiB: 3 files. The debt is 117 files.
    """
    files = log.files
    size = sum(f.bytes for f in files)
    target = target_file_bytes(size, cores)
    grown = growth(log.commits, len(files), now_ms=now_ms)
    partitions = _bytes_by_partition(files)
    integrity: Integrity = "damaged" if log.damages else "verified" if log.checked else "unknown"
    properties = dict(facts.properties)
    found = TableReadiness(
        facts.name,
        facts.location,
        facts.table_id,
        facts.version,
        facts.head,
        facts.protocol,
        integrity,
        unknown_reader_features=unknown_reader_features,
        unknown_writer_features=unknown_writer_features,
        partition_columns=facts.partition_columns,
        clustering_columns=facts.clustering_columns,
        files=len(files),
        bytes=size,
        rows=_rows(files),
        sizes=size_classes(files),
        small_files=sum(f.bytes < small_below(target) for f in files),
        small_bytes=sum(f.bytes for f in files if f.bytes < small_below(target)),
        compacted_files=len(compaction_bins(files, target)),
        deletion_vector_files=sum(f.deleted_rows > 0 for f in files),
        deleted_rows=sum(f.deleted_rows for f in files),
        partitions=len(partitions) if facts.partition_columns else None,
        median_partition_bytes=median_low(partitions) if facts.partition_columns and partitions else None,
        largest_partition_bytes=max(partitions) if facts.partition_columns and partitions else None,
        columns=_columns(facts, files, uses),
        commits_since_checkpoint=log.commits_since_checkpoint,
        log_files=log.log_files,
        log_bytes=log.log_bytes,
        growth_days=grown.days,
        commits_per_day=grown.commits,
        files_per_day=grown.files,
        bytes_per_day=grown.bytes,
        log_retention_hours=hours(properties, LOG),
        deleted_file_retention_hours=hours(properties, FILES),
        read_by=tuple(sorted(read_by)),
    )
    said = findings(found, facts, log, pinned=pinned, target=target, before=before, now_ms=now_ms)
    return replace(found, findings=tuple(said))


def unreadable(
    table: str, location: str, what: str, fix: str, read_by: Sequence[str], before: TableReadiness | None
) -> TableReadiness:
    """A table whose log cannot be read at all; what is known of it is what was stored before."""
    return TableReadiness(
        table,
        location,
        before.table_id if before else "",
        before.version if before else -1,
        None,
        before.protocol if before else Protocol(0, 0),
        "damaged",
        read_by=tuple(sorted(read_by)),
        findings=(ReadinessFinding("damaged", "error", f"{what}: queries that read it fail or lose rows", fix),),
    )


def _rows(files: Sequence[DataFile]) -> int | None:
    known = [f.rows - f.deleted_rows for f in files if f.rows is not None]
    return sum(known) if len(known) == len(files) else None


def _bytes_by_partition(files: Sequence[DataFile]) -> list[int]:
    found: dict[object, int] = {}
    for file in files:
        found[file.partition] = found.get(file.partition, 0) + file.bytes
    return list(found.values())


def _columns(facts: TableFacts, files: Sequence[DataFile], uses: Uses) -> tuple[ColumnReadiness, ...]:
    """Of the columns that queries use and those the table is clustered by; partition columns need no statistics."""
    asked = dict.fromkeys([*sorted(uses), *facts.clustering_columns])
    found = []
    for column in asked:
        if column in facts.partition_columns:
            continue
        ranges = [r for f in files if (r := f.value_range(column)) is not None]
        found.append(ColumnReadiness(column, len(ranges), overlap_depth(ranges), tuple(uses.get(column, ()))))
    return tuple(found)
