"""What the judge says about a candidate, with every criterion and both values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["accept", "reject", "inconclusive"]
NOT_TRIED = "not tried by itself"  # how the reason of a verdict begins that no execution is behind


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
    confidence: float | None = None  # of the interval; None: all pairs are the same, or stored before it was kept

    def describe(self) -> str:
        """
        >>> Gain("cpu", 0.70, 0.61, 0.80, 0.95).describe()
        'cpu -30% (-39% to -20% at 95%)'
        >>> Gain("bytes", 0.50, 0.50, 0.50).describe()
        'bytes -50% (-50% to -50%)'
        """
        return f"{self.metric} {self.ratio - 1:+.0%} ({self.low - 1:+.0%} to {self.high - 1:+.0%}{self._at})"

    def as_ratio(self) -> str:
        """
        >>> Gain("cpu", 0.70, 0.61, 0.80, 0.999).as_ratio()
        '0.700 (0.610 to 0.800 at 99.9%)'
        """
        return f"{self.ratio:.3f} ({self.low:.3f} to {self.high:.3f}{self._at})"

    @property
    def _at(self) -> str:
        return "" if self.confidence is None else f" at {100 * self.confidence:.4g}%"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judge's answer for one candidate."""

    outcome: Outcome
    reason: str
    results_equal: bool | None
    criteria: tuple[Criterion, ...]
    gain: Gain | None
    pairs: int
