"""What the judge says about a candidate, with every criterion and both values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["accept", "reject", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing the judge looked at; `passed` is None when it could not be decided."""

    name: str
    passed: bool | None
    baseline: float | None
    candidate: float | None
    threshold: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Gain:
    """Candidate over baseline of one metric: below 1 is better; `low` and `high` bound the true ratio."""

    metric: str
    ratio: float
    low: float
    high: float

    def describe(self) -> str:
        """
        >>> Gain("cpu", 0.70, 0.61, 0.80).describe()
        'cpu -30% (-39% to -20%)'
        """
        return f"{self.metric} {self.ratio - 1:+.0%} ({self.low - 1:+.0%} to {self.high - 1:+.0%})"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judge's answer for one candidate."""

    outcome: Outcome
    reason: str
    results_equal: bool | None
    criteria: tuple[Criterion, ...]
    gain: Gain | None
    pairs: int
