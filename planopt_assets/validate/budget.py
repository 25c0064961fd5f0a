"""The time of one experiment: what the query may still take, and what each candidate may still take of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from planopt_assets.model.workload import Budgets

Clock = Callable[[], float]


class Budget:
    """Ends with the query's budget or with the run's, whichever is sooner; the baseline is charged to no candidate."""

    def __init__(self, budgets: Budgets, run_deadline: float, clock: Clock, baseline: str) -> None:
        self._per_candidate, self._clock, self._baseline = budgets.per_candidate, clock, baseline
        self._deadline = min(run_deadline, clock() + budgets.per_query)
        self._spent: dict[str, float] = {}

    @property
    def gone(self) -> bool:
        """Nobody may go on."""
        return self._clock() >= self._deadline

    def left(self, arm_id: str) -> float:
        """Seconds this arm may still take."""
        left = self._deadline - self._clock()
        if arm_id == self._baseline:
            return left
        return min(left, self._per_candidate - self._spent.get(arm_id, 0.0))

    @contextmanager
    def charged(self, arm_id: str) -> Iterator[None]:
        """What happens meanwhile is on this arm's account, however it ends."""
        started = self._clock()
        try:
            yield
        finally:
            self._spent[arm_id] = self._spent.get(arm_id, 0.0) + self._clock() - started
