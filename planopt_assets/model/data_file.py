"""The data files of a table at a version, and the commits that led there, as its log tells of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file that readers of a version see. Columns have their logical names; nested ones are paths with dots."""

    path: str
    bytes: int
    rows: int | None = None
    partition: tuple[tuple[str, str | None], ...] = ()
    least: Mapping[str, Any] = field(default_factory=dict)  # as JSON holds it: numbers and texts
    greatest: Mapping[str, Any] = field(default_factory=dict)
    deleted_rows: int = 0  # by a deletion vector

    def value_range(self, column: str) -> tuple[Any, Any] | None:
        """Least and greatest value of a column, where the log tells both; a partition has one value.

        >>> DataFile("f", 1, least={"id": 3}, greatest={"id": 9}).value_range("id")
        (3, 9)
        """
        for name, value in self.partition:
            if name == column:
                return None if value is None else (value, value)
        low, high = self.least.get(column), self.greatest.get(column)
        return None if low is None or high is None else (low, high)


@dataclass(frozen=True, slots=True)
class RowChange:
    """Rows that a DELETE, UPDATE or MERGE changed, and rows that it only wrote again: they were in the same files."""

    changed_rows: int  # deleted and updated; inserted ones are no change
    copied_rows: int
    copied_bytes: int


@dataclass(frozen=True, slots=True)
class Commit:
    """What one commit added and removed; `data_change` False: a new layout of the same rows."""

    version: int
    at_ms: int | None
    operation: str
    added_files: int = 0
    added_bytes: int = 0
    removed_files: int = 0
    data_change: bool = True
    small_files: int = 0  # of those it added, the most in one partition; small as auto compaction has it
    row_change: RowChange | None = None  # None: it changed no rows, or its writer does not tell


@dataclass(frozen=True, slots=True)
class Damage:
    """Something in a table's folder that is not as its writers left it; Spark itself may read over it."""

    what: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class TableLog:
    """A table's log at one version: the files it lists, its recent commits, its size, and what is damaged."""

    files: tuple[DataFile, ...]
    commits: tuple[Commit, ...] = ()  # those that are still there, oldest first, at most `delta/live_files.py` COMMITS
    commits_since_checkpoint: int = 0
    log_files: int = 0
    log_bytes: int = 0
    checked: bool = False  # True: files and bytes were compared with a checksum file
    damages: tuple[Damage, ...] = ()
