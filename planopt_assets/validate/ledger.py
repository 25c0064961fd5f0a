"""All trials of one experiment, in the order they ran, and the pairs they form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from planopt_assets.model.counters import Counters
from planopt_assets.model.trial import Trial
from planopt_assets.validate.pairs import Pair


class Ledger:
    """Append-only. A disturbed trial stays, marked as tainted. Arms go by their ids."""

    def __init__(self, bindings: int, baseline: str) -> None:
        self._runs: list[tuple[str, Trial]] = []
        self._bindings, self._baseline = range(bindings), baseline
        self._counted: set[int] = set()

    @property
    def trials(self) -> list[Trial]:
        return [trial for _, trial in self._runs]

    @property
    def runs(self) -> list[tuple[str, Trial]]:
        """Every trial with its arm."""
        return list(self._runs)

    def add(self, arm_id: str, trial: Trial) -> None:
        self._runs.append((arm_id, trial))

    def count(self, number: int) -> None:
        """Release a round to the judge: it is complete, its results were compared, and nothing disturbed it."""
        self._counted.add(number)

    def taint(self, number: int, reason: str) -> None:
        """Mark all trials of a round as tainted, so that none is judged. Their results were compared before."""
        for place, (arm_id, trial) in enumerate(self._runs):
            if trial.round == number and trial.status == "ok":
                self._runs[place] = (arm_id, replace(trial, status="tainted", error=reason))

    def of_round(self, number: int, binding: int) -> list[tuple[str, Trial]]:
        """The finished trials of a round for one binding, with their arms; also disturbed ones: their results count."""
        return [(a, t) for a, t in self._runs if t.round == number and t.binding == binding and t.digest]

    def walls(self, binding: int) -> list[float]:
        """Wall clock of the baseline for a binding, in seconds, warm-ups included."""
        return [counters.wall_ns / 1e9 for counters in self._of_baseline(binding)]

    def cpus(self, binding: int) -> list[float]:
        """The same for its CPU; runs that nobody measured it for are left out."""
        return [counters.cpu_ns / 1e9 for counters in self._of_baseline(binding) if counters.cpu_ns]

    def _of_baseline(self, binding: int) -> list[Counters]:
        runs = [t for a, t in self._runs if a == self._baseline and t.binding == binding and t.status == "ok"]
        return [t.counters for t in runs if t.counters]

    def pairs(self, arm_id: str) -> list[Pair]:
        """Baseline and candidate of every released round that both finished undisturbed."""
        counted = {
            (a, t.round, t.binding): t for a, t in self._runs if t.status == "ok" and not t.warm_up and t.counters
        }
        found = []
        for number in sorted(self._counted):
            baseline = self._whole(counted.get((self._baseline, number, b)) for b in self._bindings)
            candidate = self._whole(counted.get((arm_id, number, b)) for b in self._bindings)
            if baseline and candidate:
                found.append(_pair(baseline, candidate))
        return found

    def of(self, arm_id: str, binding: int) -> list[Trial]:
        """All trials of an arm and of the baseline for one binding."""
        return [t for a, t in self._runs if a in (arm_id, self._baseline) and t.binding == binding]

    def ids(self, arm_id: str) -> tuple[str, ...]:
        """Ids of all trials behind a verdict on an arm, the baseline's included."""
        return tuple(t.id for a, t in self._runs if a in (arm_id, self._baseline))

    def _whole(self, trials: Iterable[Trial | None]) -> list[Trial]:
        found = [t for t in trials if t is not None]
        return found if len(found) == len(self._bindings) else []


def _pair(baseline: list[Trial], candidate: list[Trial]) -> Pair:
    same = all(
        b.topology_hash is not None and b.topology_hash == c.topology_hash
        for b, c in zip(baseline, candidate, strict=True)
    )
    return Pair(
        tuple(t.counters for t in baseline if t.counters), tuple(t.counters for t in candidate if t.counters), same
    )
