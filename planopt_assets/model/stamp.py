"""When a row was stored, and by which run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Stamp:
    """Part of every stored noun, and of no identity: two runs that find the same store equal nouns."""

    run_id: str = ""
    recorded_at: datetime = datetime(1970, 1, 1, tzinfo=UTC)  # a datetime cannot be changed
    sequence: int = 0  # the order of commits over all tables; 0: stored before planopt kept it

    @property
    def second(self) -> int:
        """Seconds since 1970."""
        return int(self.recorded_at.timestamp())

    def later_than(self, other: Stamp) -> bool:
        """Whether it was stored later. Clocks are compared only between rows that have no order otherwise.

        >>> ahead = Stamp("r1", datetime(2026, 1, 1, 15, tzinfo=UTC), 4)  # its clock is three hours ahead
        >>> after = Stamp("r2", datetime(2026, 1, 1, 12, tzinfo=UTC), 5)
        >>> after.later_than(ahead), ahead.later_than(after)
        (True, False)
        """
        return (self.sequence, self.recorded_at) > (other.sequence, other.recorded_at)


NOT_STORED = Stamp()
