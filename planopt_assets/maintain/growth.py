"""How fast a table grows, and how long a layout lives before writers replace it, from the times of its commits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planopt_assets.model.data_file import Commit

DAY_MS = 86_400_000
SHORTEST_DAYS = 1 / 24
"""Commits within less than an hour say nothing about a day: a load, or a test."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Rates per day since the first commit that the log still holds; None where commits cover too little time."""

    days: float | None = None
    commits: float | None = None
    files: float | None = None  # added by writers, less those they removed
    bytes: float | None = None  # added by writers
    replaced_share: float | None = None  # of the table's files that writers remove a day
    files_per_append: float | None = None


UNKNOWN = Growth()


def growth(commits: Sequence[Commit], files: int, *, now_ms: int) -> Growth:
    """From the first commit until now: a table that was loaded long ago and left alone does not grow.

    Commits that only change the layout do not count. Worked: 25 hourly appends of 2 files, the last one just now: one
    day, in which 24 commits added 48 files. Two days later it is 16 files a day.

    >>> hourly = [Commit(v, v * 3_600_000, "WRITE", 2, 100) for v in range(25)]
    >>> growth(hourly, 50, now_ms=DAY_MS)
    Growth(days=1.0, commits=24.0, files=48.0, bytes=2400.0, replaced_share=0.0, files_per_append=2.0)
    >>> growth(hourly, 50, now_ms=3 * DAY_MS).files
    16.0
    """
    written = [c for c in commits if c.data_change and c.added_files + c.removed_files > 0]
    appends = [c.added_files for c in written if c.added_files and not c.removed_files]
    per_append = sum(appends) / len(appends) if appends else None
    timed = [(c.at_ms, c) for c in written if c.at_ms is not None]
    if len(timed) < 2 or timed[-1][0] - timed[0][0] < SHORTEST_DAYS * DAY_MS:
        return Growth(files_per_append=per_append)
    days = (max(now_ms, timed[-1][0]) - timed[0][0]) / DAY_MS  # a writer's clock may be ahead
    later = [c for _, c in timed[1:]]
    removed = sum(c.removed_files for c in later)
    return Growth(
        days=days,
        commits=len(later) / days,
        files=(sum(c.added_files for c in later) - removed) / days,
        bytes=sum(c.added_bytes for c in later) / days,
        replaced_share=removed / days / max(1, files),
        files_per_append=per_append,
    )


def layout_lives_days(found: Growth) -> float | None:
    """How long until writers have replaced the files of today; None: they only add.

    >>> layout_lives_days(Growth(days=4.0, replaced_share=0.5))
    2.0
    """
    return 1 / found.replaced_share if found.replaced_share else None
