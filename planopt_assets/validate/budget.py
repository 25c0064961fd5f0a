"""The time budget of one experiment: how many seconds are left for it, and for each candidate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from planopt_assets.model.workload import Budgets

Clock = Callable[[], float]


class Budget:
    """Ends with `per_query` or with the run, whichever is sooner. No candidate pays for the baseline."""

    def __init__(
        self, budgets: Budgets, run_deadline: float, clock: Clock, baseline: str, *, executors: int = 1
    ) -> None:
        self._per_candidate, self._clock, self._baseline = budgets.per_candidate, clock, baseline
        self._deadline = min(run_deadline, clock() + budgets.per_query_on(executors))
        self._spent: dict[str, float] = {}

    @property
    def gone(self) -> bool:
        """No time is left, for any arm."""
        return self._clock() >= self._deadline

    def left(self, arm_id: str) -> float:
        """Seconds this arm may still take."""
        left = self._deadline - self._clock()
        if arm_id == self._baseline:
            return left
        return min(left, self._per_candidate - self._spent.get(arm_id, 0.0))

    @contextmanager
    def charged(self, arm_id: str) -> Iterator[None]:
        """Charge the time of the block to this arm, also when the block raises."""
        started = self._clock()
        try:
            yield
        finally:
            self._spent[arm_id] = self._spent.get(arm_id, 0.0) + self._clock() - started
