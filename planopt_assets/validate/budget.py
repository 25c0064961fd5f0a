"""The time budget of one experiment: how many seconds are left for the query, and for each candidate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.workload import Budgets

Clock = Callable[[], float]


class Budget:
    """Ends with the query's budget or the run's, whichever is sooner. No candidate pays for the baseline."""

    def __init__(self, budgets: Budgets, run_deadline: float, clock: Clock) -> None:
        self._per_candidate, self._clock = budgets.per_candidate, clock
        self._deadline = min(run_deadline, clock() + budgets.per_query)
        self._spent: dict[str, float] = {}

    @property
    def gone(self) -> bool:
        """No time is left, for any arm."""
        return self._clock() >= self._deadline

    def left(self, policy_id: str) -> float:
        """Seconds this arm may still take."""
        left = self._deadline - self._clock()
        if policy_id == ORIGINAL.id:
            return left
        return min(left, self._per_candidate - self._spent.get(policy_id, 0.0))

    @contextmanager
    def charged(self, policy_id: str) -> Iterator[None]:
        """Charge the time of the block to this arm, also when the block raises."""
        started = self._clock()
        try:
            yield
        finally:
            self._spent[policy_id] = self._spent.get(policy_id, 0.0) + self._clock() - started
