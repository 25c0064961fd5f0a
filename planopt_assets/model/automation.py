"""When planopt runs without a person: how long it waits after a change, and at which hours it works."""

from __future__ import annotations

from dataclasses import dataclass
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
