"""When a row was stored, and by which run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Stamp:
    """Part of every stored noun, and of no identity: two runs that find the same store equal nouns."""

    run_id: str = ""
    recorded_at: datetime = datetime(1970, 1, 1, tzinfo=UTC)  # a datetime cannot be changed

    @property
    def second(self) -> int:
        """Seconds since 1970."""
        return int(self.recorded_at.timestamp())


NOT_STORED = Stamp()
