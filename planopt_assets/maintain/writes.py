"""How a table is written, from its commits: what an append leaves, and what changing a few rows costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planopt_assets.model.data_file import Commit
from planopt_assets.model.table_properties import AUTO_COMPACT_FILES


@dataclass(frozen=True, slots=True)
class Writes:
    """Of the commits that the log still holds."""

    appends: int = 0
    compactable: int = 0  # appends that leave so many small files in a partition that auto compaction is sure to act
    most_small_files: int = 0  # that one append left in one partition
    row_changes: int = 0  # commits that deleted or updated rows
    changed_rows: int = 0
    copied_rows: int = 0  # written again without a change
    copied_bytes: int = 0


NO_WRITES = Writes()


def writes(commits: Sequence[Commit]) -> Writes:
    """Commits that only change the layout do not count.

    >>> from planopt_assets.model.data_file import RowChange
    >>> update = Commit(2, 0, "UPDATE", 1, 8_000, 1, row_change=RowChange(1, 999, 7_992))
    >>> writes([Commit(0, 0, "WRITE", 60, small_files=60), Commit(1, 0, "WRITE", 49, small_files=49), update])
    Writes(appends=2, compactable=1, most_small_files=60, row_changes=1, changed_rows=1, copied_rows=999, \
copied_bytes=7992)
    """
    written = [c for c in commits if c.data_change]
    appends = [c.small_files for c in written if c.added_files and not c.removed_files]
    changes = [c.row_change for c in written if c.row_change is not None and c.row_change.changed_rows]
    return Writes(
        appends=len(appends),
        compactable=sum(small >= AUTO_COMPACT_FILES for small in appends),
        most_small_files=max(appends, default=0),
        row_changes=len(changes),
        changed_rows=sum(c.changed_rows for c in changes),
        copied_rows=sum(c.copied_rows for c in changes),
        copied_bytes=sum(c.copied_bytes for c in changes),
    )
