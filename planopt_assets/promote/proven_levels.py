"""What a policy and original cost in the trials of a verdict, how inputs grew since, and how original moved. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from planopt_assets.model.conditions import at_least_small
from planopt_assets.model.execution import Execution
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.stamp import Stamp

CLOCKS = ("executor_cpu_ns", "wall_ns")
RECENT = 3  # newest runs of original that are used


class ProvenLevels:
    """Medians of both arms of the trials, per binding. `control` are runs of original outside trials, oldest first."""

    def __init__(self, evidence: Sequence[Execution], control: Sequence[Execution], since: Stamp | None) -> None:
        self.since = since
        self._policy = [r for r in evidence if r.policy_id != ORIGINAL.id]
        self._original = [r for r in evidence if r.policy_id == ORIGINAL.id]
        self._cores = {r.cores for r in evidence} - {None}
        self._control = [r for r in control if r.cores in self._cores]
        self._levels: dict[tuple[str, int | None, bool], float | None] = {}
        self._drift: dict[tuple[object, ...], float] = {}

    def comparable(self, row: Execution) -> bool:
        """Whether a run did the same work as a trial, on as many cores.

        A trial produces the whole result and stores nothing. So does a frame that is read. A write does more: it is
        compared only if original was written too. `count`, `show` and failed runs are not comparable.
        """
        if row.status == "failed" or row.action == "other" or row.cores not in self._cores:
            return False
        return row.action != "write" or any(row.kind == other.kind for other in self._control)

    def level(self, name: str, binding: int | None, *, original: bool = False) -> float | None:
        """Median of a counter in the trials of one arm."""
        key = (name, binding, original)
        if key not in self._levels:
            runs = _of(self._original if original else self._policy, binding)
            values = [value for r in runs if (value := r.counter(name)) is not None]
            self._levels[key] = float(median(values)) if values else None
        return self._levels[key]

    def sized(self, row: Execution, *names: str) -> bool:
        """Whether the size of the inputs is known, of the run and of the trials."""
        return bool(self._ratios(row, names, original=False))

    def growth(self, row: Execution, *names: str, original: bool = False) -> float:
        """Size of the inputs relative to the trials, at least 1: smaller inputs do not lower the limits."""
        return max([1.0, *self._ratios(row, names, original=original)])

    def drift(self, name: str, binding: int | None, *sizes: str, after: Stamp | None = None) -> float:
        """How much more original costs now than in the trials, beyond its growth. At least 1, by its newest runs.

        The data may have changed since the promotion, so deterministic counters use only runs after it. Older runs saw
        the old data: a drift of 1 before and 3 after is 3, not 2. Clocks use all recent runs, because one run on a busy
        machine is not a drift, or those `after` a moment, if there are any.
        """
        key = (name, binding, sizes, after)
        if key not in self._drift:
            self._drift[key] = self._moved(name, binding, sizes, after if name in CLOCKS else self.since)
        return self._drift[key]

    def drawn(self, after: Stamp | None = None) -> list[Execution]:
        """Controls of this promotion that did the same work, or those after a moment."""
        found = [r for r in self._control if r.control and (self.since is None or r.stamp.later_than(self.since))]
        return [r for r in found if self.comparable(r) and (after is None or r.stamp.later_than(after))]

    def _ratios(self, row: Execution, names: Sequence[str], *, original: bool) -> list[float]:
        found = [
            value / before
            for name in names
            if (value := row.counter(name)) and (before := self.level(name, row.binding, original=original))
        ]
        if "table_bytes" in names:  # each table by itself: beside a large one another may have grown much
            then = dict(next((r.table_sizes for r in (*self._policy, *self._original) if r.table_sizes), ()))
            sizes = [at_least_small(size, then[table]) for table, size in row.table_sizes if table in then]
            found += [now / before for now, before in sizes]
        return found

    def _moved(self, name: str, binding: int | None, sizes: tuple[str, ...], after: Stamp | None) -> float:
        before = self.level(name, binding, original=True)
        found = [1.0]
        for kind in {r.kind for r in self._control if self.comparable(r)}:
            known = [r for r in self._control if r.kind == kind and r.counter(name) is not None and not r.disturbed]
            rows = _of(known, binding)
            if after is not None:
                rows = [r for r in rows if r.stamp.later_than(after)] or rows
            if before and rows:
                recent = rows[-RECENT:]
                found.append(
                    median((r.counter(name) or 0) / (before * self.growth(r, *sizes, original=True)) for r in recent)
                )
        return max(found)


def _of(rows: Sequence[Execution], binding: int | None) -> list[Execution]:
    """Rows of one binding, or all rows if this binding was never tried."""
    return [r for r in rows if r.binding == binding] or list(rows)
