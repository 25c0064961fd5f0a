"""When planopt runs without a person: how long it waits after a change, and at which hours it works."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Literal

Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


@dataclass(frozen=True, slots=True)
class Automation:
    """`every`, `settle` and `interval` are in seconds. Hours are those of the time zone.

    Worked: a load job commits to `sales` at 12:00, 12:01 and 12:02. With `settle` 60 one run starts at 12:03. A stream
    commits every ten seconds, so it never settles: with `interval` 900 a run starts every 15 minutes.
    """

    settle: float = 60.0
    interval: float = 900.0
    time_zone: str = "UTC"
    nightly_hour: int = 2
    weekly_day: Weekday = "sunday"
    weekly_hour: int = 1
    every: int = 30  # between two looks of a sensor


@dataclass(frozen=True, slots=True)
class TrialWindow:
    """Trials run from the hour `start` on, and before the hour `end`, which may be on the next day."""

    start: int
    end: int

    def open_for_s(self, local: datetime) -> float:
        """Seconds until it closes; 0 where it is closed. `local` is the time in the workload's time zone.

        A night in which clocks are put forward is an hour shorter.

        >>> night = TrialWindow(22, 6)
        >>> [night.open_for_s(datetime(2026, 3, 1, hour, 30)) / 3600 for hour in (21, 22, 5, 6)]
        [0.0, 7.5, 0.5, 0.0]
        """
        hours = (self.end - self.start) % 24
        for day in (local.date(), local.date() - timedelta(days=1)):
            opens = datetime.combine(day, time(self.start), local.tzinfo)
            closes = opens + timedelta(hours=hours)
            if opens <= local < closes:
                return closes.timestamp() - local.timestamp()
        return 0.0

    def describe(self) -> str:
        """
        >>> TrialWindow(22, 6).describe()
        '22:00 to 06:00'
        """
        return f"{self.start:02d}:00 to {self.end:02d}:00"
