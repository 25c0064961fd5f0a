"""The answer of one regression gate for one query; Dagster's asset checks and the command line only show it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Gate:
    """Passed or not; a `severe` failure is a regression, any other is something to look at."""

    passed: bool
    severe: bool
    words: str
    details: str = ""  # Markdown, for people who want to know more
    numbers: dict[str, float] = field(default_factory=dict)  # plotted over time
