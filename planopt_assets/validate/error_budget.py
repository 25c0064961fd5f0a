"""The error budget of a query: how often, in its whole life, a policy without a gain may be accepted. Pure.

Every trial in which the judge looks at clocks may err. Errors add up over candidates, retries and nights. So all trials
of a query share one budget of 5 %, by a series that never ends and whose sum is 1 (alpha spending). The first trial, of
the most promising candidate, gets three fifths. The others share the rest:

    trial          1      2      3      4      5    ...    n
    share         0.6    0.2  0.067  0.033   0.02        0.4 / (n (n - 1))
    may err       3 %    1 %  0.33 %  0.17 % 0.1 %

Proof: trial n accepts a policy without a gain with a probability of at most its share, whatever happened before it. The
chance that any trial does is at most the sum (union bound): 5 %, after any number of nights.

The number of a trial comes from stored verdicts alone, so the same rows give the same shares on any machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

from planopt_assets.model.verdict import Verdict

LIFE_ERROR = 0.05
FIRST_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """What the earlier trials of a query have left: how many looked at clocks, and what their looks spent."""

    looked: int = 0
    spent: float = 0.0

    @property
    def available(self) -> float:
        """The error that the next trial may make.

        >>> [round(ErrorBudget(looked).available, 6) for looked in (0, 1, 2, 99)]
        [0.03, 0.01, 0.003333, 2e-06]
        """
        number = self.looked + 1
        share = FIRST_SHARE if number == 1 else (1 - FIRST_SHARE) / (number * (number - 1))
        return LIFE_ERROR * share

    def describe(self) -> str:
        """
        >>> ErrorBudget(3, 0.0308).describe()
        '3.08% of 5% spent in 3 trials, the next one may err in 0.167%'
        """
        spent, following = (f"{100 * value:.3g}%" for value in (self.spent, self.available))
        trials = "1 trial" if self.looked == 1 else f"{self.looked} trials"
        return f"{spent} of {LIFE_ERROR:.0%} spent in {trials}, the next one may err in {following}"

    def facts(self) -> dict[str, float]:
        return {"whole": LIFE_ERROR, "spent": self.spent, "trials": self.looked, "next_trial": self.available}

    def after(self, spent: float | None) -> ErrorBudget:
        """After one more trial. One that was settled before any clock was looked at costs nothing."""
        return ErrorBudget(self.looked + 1, self.spent + spent) if spent else self

    def after_all(self, spent: Iterable[float | None]) -> ErrorBudget:
        """After these trials, in any order: a trial's share goes by how many there were before it."""
        return reduce(ErrorBudget.after, spent, self)


FULL_BUDGET = ErrorBudget()
"""Of a query that was never tried."""


def budget_left(verdicts: Iterable[Verdict], canonical_fingerprint: str | None) -> ErrorBudget:
    """The budget of a query after these verdicts. A query whose meaning changed is another query, with its own budget.

    Verdicts of planopt before it kept a budget are not counted: they say nothing about what they spent.
    """
    own = (v for v in verdicts if v.canonical_fingerprint == canonical_fingerprint)
    return FULL_BUDGET.after_all(v.error_spent for v in own)
