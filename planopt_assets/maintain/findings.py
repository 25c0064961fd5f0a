"""What is wrong with a table, what follows for its queries, and the command that mends it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planopt_assets.decide.prices import CPU_PER_FILE_NS
from planopt_assets.maintain.retention import hazards, kept_by
from planopt_assets.model.data_file import TableLog
from planopt_assets.model.table_facts import TableFacts
from planopt_assets.model.table_properties import STATISTICS
from planopt_assets.model.table_readiness import ReadinessFinding, TableReadiness

MANY_SMALL = 8  # files too many; below it no query notices
DELETED_SHARE = 0.1  # of the rows that a scan reads and throws away
SKEW = 10  # times the median partition
SKEWED_BYTES = 64 * 1024**2
CHECKPOINT_EVERY = 10  # Delta's own default
LONG_TAIL = 2 * CHECKPOINT_EVERY


def findings(
    found: TableReadiness,
    facts: TableFacts,
    log: TableLog,
    *,
    pinned: Sequence[int],
    target: int,
    before: TableReadiness | None,
    now_ms: int,
) -> list[ReadinessFinding]:
    """All findings: errors first, then warnings, then notes."""
    place = f"delta.`{facts.location}`"
    everything = [
        *_integrity(found, log, before),
        *_protocol(found),
        *_files(found, place, target),
        *_columns(found, place),
        *_log(found, facts, place),
        *hazards(place, pinned, log.commits, kept_by(dict(facts.properties)), now_ms=now_ms),
    ]
    order = ("error", "warning", "note")
    return sorted(everything, key=lambda f: order.index(f.severity))


def _integrity(found: TableReadiness, log: TableLog, before: TableReadiness | None) -> Iterator[ReadinessFinding]:
    restore = "restore the file from a backup, or RESTORE the table to a version without it"
    for damage in log.damages:
        where = f" ({damage.file})" if damage.file else ""
        yield ReadinessFinding("damaged", "error", f"{damage.what}{where}", restore)
    if before is not None and before.table_id == found.table_id and before.version > found.version:
        yield ReadinessFinding(
            "went_back",
            "error",
            f"its newest version was {before.version} when planopt last looked and is {found.version} now: "
            "commits were lost, and their rows with them",
            "restore the table's `_delta_log` from a backup",
        )
    same_version = before is not None and (before.table_id, before.version) == (found.table_id, found.version)
    if before is not None and same_version and None not in (before.head, found.head) and before.head != found.head:
        yield ReadinessFinding(
            "rewritten",
            "error",
            f"version {found.version} has another commit than when planopt last looked: the log was changed in place",
            "find out who replaced the log; evidence on the old one does not count any more",
        )
    if before is not None and before.table_id and before.table_id != found.table_id:
        yield ReadinessFinding(
            "replaced", "warning", "another table is at this place now: nothing that was measured before counts", ""
        )
    if found.integrity == "unknown":
        yield ReadinessFinding(
            "no_checksum",
            "note",
            "its writer leaves no checksum files: a commit that lost lines would not be noticed",
            "",
        )


def _protocol(found: TableReadiness) -> Iterator[ReadinessFinding]:
    if found.unknown_reader_features:
        named = ", ".join(found.unknown_reader_features)
        yield ReadinessFinding(
            "unknown_reader_feature", "error", f"it needs {named} of its reader: no query of it can run", ""
        )
    if found.unknown_writer_features:
        named = ", ".join(found.unknown_writer_features)
        yield ReadinessFinding(
            "unknown_writer_feature", "warning", f"it needs {named} of its writer: planopt never changes it", ""
        )


def _files(found: TableReadiness, place: str, target: int) -> Iterator[ReadinessFinding]:
    debt = found.debt or 0
    if debt >= MANY_SMALL:
        cost = debt * CPU_PER_FILE_NS / 1e9
        yield ReadinessFinding(
            "small_files",
            "warning",
            f"{found.small_files} of {found.files} files are smaller than {target // 2**21} MiB; a full scan opens "
            f"{debt} files too many, about {cost:.2f} s CPU",
            f"planopt maintain {found.table}",
        )
    if found.deleted_rows and found.deleted_rows > DELETED_SHARE * ((found.rows or 0) + found.deleted_rows):
        yield ReadinessFinding(
            "deletion_vectors",
            "warning",
            f"{found.deleted_rows:,} deleted rows are still in {found.deletion_vector_files} files: "
            "each scan reads them and throws them away",
            f"REORG TABLE {place} APPLY (PURGE)",
        )
    largest, median = found.largest_partition_bytes or 0, found.median_partition_bytes or 0
    if largest > SKEW * median and largest > SKEWED_BYTES:
        yield ReadinessFinding(
            "partition_skew",
            "note",
            f"its largest partition has {largest:,} bytes, the median one {median:,}: tasks on it take longest",
            "",
        )


def _columns(found: TableReadiness, place: str) -> Iterator[ReadinessFinding]:
    files = found.files or 0
    for column in found.columns:
        if column.used_by and column.files_with_range < files:
            yield ReadinessFinding(
                "no_statistics",
                "warning",
                f"{files - column.files_with_range} of {files} files have no range of {column.column}, which "
                f"{', '.join(column.used_by)} use: they are never skipped by it",
                f"ALTER TABLE {place} SET TBLPROPERTIES ('{STATISTICS}' = '…,{column.column}'), then rewrite the files",
            )
        clustered = column.column in found.clustering_columns
        if clustered and column.depth is not None and files > 3 and column.depth > files / 2:
            yield ReadinessFinding(
                "not_clustered",
                "warning",
                f"it is declared to be clustered by {column.column}, but a value falls into {column.depth:.0f} of "
                f"{files} files",
                f"OPTIMIZE {place} FULL",
            )


def _log(found: TableReadiness, facts: TableFacts, place: str) -> Iterator[ReadinessFinding]:
    interval = int(facts.property("delta.checkpointInterval") or CHECKPOINT_EVERY)
    tail = found.commits_since_checkpoint or 0
    if tail > max(LONG_TAIL, 2 * interval):
        yield ReadinessFinding(
            "long_log",
            "warning",
            f"{tail} commits follow the last checkpoint: every new session reads each of them before its first query",
            f"planopt maintain {found.table}",
        )
