"""How ready a table is to be read well: its files, its statistics, its log, and what is wrong with each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from planopt_assets.model.stamp import NOT_STORED, Stamp
from planopt_assets.model.table_facts import Protocol

Severity = Literal["error", "warning", "note"]
Integrity = Literal["verified", "damaged", "unknown"]


@dataclass(frozen=True, slots=True)
class SizeClass:
    """The files up to a size, and above the class before it."""

    up_to_bytes: int | None  # None: no bound
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ColumnReadiness:
    """One column that queries filter or join on: how many files tell its range, and how many files one value is in.

    `depth` is how many files an average value of the column falls into. 1.0 is perfectly clustered; the number of files
    means that every file may hold every value.
    """

    column: str
    files_with_range: int
    depth: float | None  # None: fewer than two files tell a range
    used_by: tuple[str, ...] = ()  # queries, sorted


@dataclass(frozen=True, slots=True)
class ReadinessFinding:
    """Something about a table that costs its readers or endangers them, what follows, and what to do."""

    cause: str  # one word for machines, such as `small_files`
    severity: Severity
    consequence: str
    command: str = ""  # empty: nothing to run


@dataclass(frozen=True, slots=True)
class TableReadiness:
    """One table at one version, from its log alone. None is unknown, not zero."""

    table: str
    location: str
    table_id: str
    version: int
    head: str | None
    protocol: Protocol
    integrity: Integrity
    unknown_reader_features: tuple[str, ...] = ()
    unknown_writer_features: tuple[str, ...] = ()
    partition_columns: tuple[str, ...] = ()
    clustering_columns: tuple[str, ...] = ()
    files: int | None = None
    bytes: int | None = None
    rows: int | None = None
    sizes: tuple[SizeClass, ...] = ()
    small_files: int | None = None
    small_bytes: int | None = None
    compacted_files: int | None = None  # how many files the same data would have
    deletion_vector_files: int | None = None
    deleted_rows: int | None = None
    partitions: int | None = None
    median_partition_bytes: int | None = None
    largest_partition_bytes: int | None = None
    columns: tuple[ColumnReadiness, ...] = ()
    commits_since_checkpoint: int | None = None
    log_files: int | None = None
    log_bytes: int | None = None
    growth_days: float | None = None  # over which growth was measured
    commits_per_day: float | None = None
    files_per_day: float | None = None
    bytes_per_day: float | None = None
    log_retention_hours: float | None = None
    deleted_file_retention_hours: float | None = None
    read_by: tuple[str, ...] = ()  # queries, sorted
    findings: tuple[ReadinessFinding, ...] = ()
    input_fingerprint: str = ""  # of the table and the queries that were looked at
    stamp: Stamp = field(default=NOT_STORED, compare=False)

    @property
    def ref(self) -> str:
        return f"{self.table}@v{self.version}"

    @property
    def debt(self) -> int | None:
        """Files more than the same data needs."""
        if self.files is None or self.compacted_files is None:
            return None
        return max(0, self.files - self.compacted_files)

    @property
    def ready(self) -> bool:
        """Whether nothing about it is an error."""
        return not any(f.severity == "error" for f in self.findings)
