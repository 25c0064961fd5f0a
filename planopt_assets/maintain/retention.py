"""How long a table keeps old files and old commits, and which versions that planopt rests on may break."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from planopt_assets.model.data_file import Commit
from planopt_assets.model.table_readiness import ReadinessFinding

FILES, LOG = "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"
_DEFAULT_HOURS = {FILES: 7 * 24.0, LOG: 30 * 24.0}
_HOURS = {"week": 168.0, "day": 24.0, "hour": 1.0, "minute": 1 / 60, "second": 1 / 3600, "millisecond": 1 / 3.6e6}
_PART = re.compile(r"(-?[\d.]+)\s+([a-z]+?)s?\b")
SHORT_HOURS = 24.0


def hours(properties: dict[str, str], name: str) -> float:
    """
    >>> hours({FILES: "interval 1 day 12 hours"}, FILES), hours({}, FILES)
    (36.0, 168.0)
    """
    parts = _PART.findall(properties.get(name, "").lower())
    known = [float(number) * _HOURS[unit] for number, unit in parts if unit in _HOURS]
    return sum(known) if known else _DEFAULT_HOURS[name]


def hazards(
    table: str, pinned: Sequence[int], commits: Sequence[Commit], keeps_hours: float
) -> Iterator[ReadinessFinding]:
    """A pinned version breaks when VACUUM deletes a file that a later commit removed from the table."""
    if keeps_hours < SHORT_HOURS:
        yield ReadinessFinding(
            "short_retention",
            "warning",
            f"VACUUM may delete files {keeps_hours:g} hours after they were replaced: a query that runs longer, "
            "or a trial on a pinned version, fails",
            f"ALTER TABLE {table} SET TBLPROPERTIES ('{FILES}' = 'interval 7 days')",
        )
    for version in sorted(set(pinned)):
        removed = [c for c in commits if c.version > version and c.removed_files and c.at_ms is not None]
        if not removed:
            continue
        first = min(c.at_ms for c in removed if c.at_ms is not None)
        until = datetime.fromtimestamp(first / 1000 + keeps_hours * 3600, UTC)
        yield ReadinessFinding(
            "pinned_version",
            "note",
            f"planopt's evidence rests on version {version}; {sum(c.removed_files for c in removed)} of its files were "
            f"replaced since, and VACUUM may delete them from {until:%Y-%m-%d %H:%M} UTC on",
            "planopt run",
        )
