"""How long a table keeps old files and old commits, and which versions that planopt rests on may break."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from planopt_assets.model.data_file import Commit
from planopt_assets.model.table_readiness import ReadinessFinding

FILES, LOG = "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"
_DEFAULT_HOURS = {FILES: 7 * 24.0, LOG: 30 * 24.0}
_HOURS = {"week": 168.0, "day": 24.0, "hour": 1.0, "minute": 1 / 60, "second": 1 / 3600, "millisecond": 1 / 3.6e6}
_PART = re.compile(r"(-?[\d.]+)\s+([a-z]+?)s?\b")
CLEAN_UP = "delta.enableExpiredLogCleanup"
SHORT_HOURS = 24.0
HORIZON_HOURS = 7 * 24.0  # some loops run once a week, and a table is not looked at again before
HOUR_MS = 3_600_000
FOREVER_MS = 100 * 365 * 24 * HOUR_MS


def hours(properties: dict[str, str], name: str) -> float:
    """
    >>> hours({FILES: "interval 1 day 12 hours"}, FILES), hours({}, FILES)
    (36.0, 168.0)
    """
    parts = _PART.findall(properties.get(name, "").lower())
    known = [float(number) * _HOURS[unit] for number, unit in parts if unit in _HOURS]
    return sum(known) if known else _DEFAULT_HOURS[name]


@dataclass(frozen=True, slots=True)
class Kept:
    """How many hours a table keeps what is no longer part of it; None: for good."""

    files: float
    log: float | None


def kept_by(properties: dict[str, str]) -> Kept:
    """
    >>> kept_by({}), kept_by({"delta.enableExpiredLogCleanup": "false"})
    (Kept(files=168.0, log=720.0), Kept(files=168.0, log=None))
    """
    cleaned = properties.get(CLEAN_UP, "true").lower() != "false"
    return Kept(hours(properties, FILES), hours(properties, LOG) if cleaned else None)


def hazards(
    table: str, pinned: Sequence[int], commits: Sequence[Commit], kept: Kept, *, now_ms: int
) -> Iterator[ReadinessFinding]:
    """Versions that planopt's evidence rests on and that may break: a warning within the horizon, else a note.

    Worked: version 4 was replaced by a compaction on Monday, and VACUUM may delete its files after 7 days. On Tuesday
    that is 6 days ahead: a warning. With a retention of 30 days a look on Tuesday gives a note. Time alone makes no
    warning of it: only the next look at the table does, if it is within 7 days of the date.
    """
    if kept.files < SHORT_HOURS:
        yield ReadinessFinding(
            "short_retention",
            "warning",
            f"VACUUM may delete files {kept.files:g} hours after they were replaced: a query that runs longer, "
            "or a trial on a pinned version, fails",
            f"ALTER TABLE {table} SET TBLPROPERTIES ('{FILES}' = 'interval 7 days')",
        )
    for version in sorted(set(pinned)):
        found = _first_break(version, commits, kept)
        if found is None or found[0] - now_ms > FOREVER_MS:
            continue
        at_ms, how = found
        soon = at_ms - now_ms <= HORIZON_HOURS * HOUR_MS
        yield ReadinessFinding(
            "pinned_version",
            "warning" if soon else "note",
            f"planopt's evidence rests on version {version}; {how} from "
            f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M} UTC on",
            "planopt run",
        )


def _first_break(version: int, commits: Sequence[Commit], kept: Kept) -> tuple[float, str] | None:
    """When a version may break, and how: VACUUM deletes a file that was removed later, or clean-up its commit.

    The newest version does not break. Commits are listed oldest first; one that is not listed is older than all.
    """
    later = [c for c in commits if c.version > version and c.at_ms is not None]
    if not later:
        return None
    ways = []
    removed = [(c.at_ms, c.removed_files) for c in later if c.at_ms is not None and c.removed_files]
    if removed:
        count = sum(files for _, files in removed)
        words = f"{count} of its files were replaced since, and VACUUM may delete them"
        ways.append((min(at for at, _ in removed) + kept.files * HOUR_MS, words))
    made_ms = next((c.at_ms for c in commits if c.version >= version and c.at_ms is not None), None)
    if kept.log is not None and made_ms is not None:
        ways.append((made_ms + kept.log * HOUR_MS, "later ones follow, and clean-up of the log may delete its commit"))
    return min(ways, default=None)
