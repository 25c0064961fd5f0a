"""Watch: does the policy in force still perform as in its trials? Pure: executions in, a regression or nothing out.

It compares three sets of executions: the verdict's trials of both arms (`evidence`), later runs under the policy
(`later`), and runs of original outside trials (`control`). If original got worse too, the data changed, not the policy.
An unknown counter is not compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, variance

from planopt_assets.model.execution import Execution
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.stamp import Stamp

CLOCKS = ("cpu_ns", "wall_ns")
RECENT = 3  # newest control runs that are used


@dataclass(frozen=True, slots=True)
class Limits:
    """How far later runs may be from the evidence. Wider than the judge's limits, because runs are not paired here."""

    scan: float = 1.10
    shuffle: float = 1.25
    tasks: float = 2.0
    slack_bytes: int = 1 << 20
    slack_tasks: int = 8
    clock: float = 1.20
    confidence: float = 0.999
    observations: int = 5  # fewest runs for a decision by clocks
    similar: float = 2.0  # if inputs grew more, spill and clocks cannot be predicted


@dataclass(frozen=True, slots=True)
class Regression:
    """Why a policy must be reverted, with numbers, and the ids of the rows behind it."""

    reason: str
    evidence: tuple[str, ...]


def regression(
    evidence: Sequence[Execution],
    later: Sequence[Execution],
    control: Sequence[Execution] = (),
    limits: Limits | None = None,
    since: Stamp | None = None,
) -> Regression | None:
    """The first counter beyond its limit, or clocks that are surely slower. None: no regression, or too little data.

    Worked: the trials shuffled 800 bytes per row and read 1,000,000 rows. A later run reads 2,000,000 rows. 1.6 GB are
    expected, and up to 1.25 times that is within the limit. 2.4 GB is a regression, unless original needs as much.
    `since` is the stamp of the promotion. For deterministic counters, control runs after it are preferred.
    """
    limits = limits or Limits()
    arms = _Arms(evidence, control, since)
    later = [row for row in later if arms.comparable(row)]
    for row in later:
        if not row.disturbed and (found := _beyond(row, arms, limits)):
            return Regression(found, (row.id,))
    return _slower(later, arms, limits)


class _Arms:
    """Medians of both arms of the trials, per binding, and how much original has drifted since."""

    def __init__(self, evidence: Sequence[Execution], control: Sequence[Execution], since: Stamp | None) -> None:
        self.policy = [r for r in evidence if r.policy_id != ORIGINAL.id]
        self.original = [r for r in evidence if r.policy_id == ORIGINAL.id]
        self.control = control
        self.since = since
        self._proven: dict[tuple[str, int | None, bool], float | None] = {}
        self._drift: dict[tuple[str, int | None, tuple[str, ...]], float] = {}

    def comparable(self, row: Execution) -> bool:
        """Whether a run did the same work as a trial.

        A trial produces the whole result and stores nothing. So does a frame that is read. A write does more: it is
        compared only if control has writes too. `count`, `show` and failed runs are not comparable.
        """
        if row.status == "failed" or row.action == "other":
            return False
        return row.action != "write" or any(row.kind == other.kind for other in self.control)

    def proven(self, name: str, binding: int | None, *, original: bool = False) -> float | None:
        """Median of a counter in the trials of one arm."""
        key = (name, binding, original)
        if key not in self._proven:
            self._proven[key] = self._median(name, binding, original=original)
        return self._proven[key]

    def _median(self, name: str, binding: int | None, *, original: bool) -> float | None:
        runs = _of(self.original if original else self.policy, binding)
        values = [value for r in runs if (value := r.counter(name)) is not None]
        return float(median(values)) if values else None

    def growth(self, row: Execution, *names: str, original: bool = False) -> float:
        """Size of the inputs relative to the trials, at least 1: smaller inputs do not lower the limits."""
        ratios = [
            value / before
            for name in names
            if (value := row.counter(name)) and (before := self.proven(name, row.binding, original=original))
        ]
        return float(max([1.0, *ratios]))

    def drift(self, name: str, binding: int | None, *sizes: str) -> float:
        """How much more original costs now than in the trials, beyond its growth. At least 1, by its newest runs.

        The data may have changed since the promotion, so deterministic counters use only control runs after it. Older
        runs saw the old data: a drift of 1 before and 3 after is 3, not 2. Clocks use all recent runs, because one run
        on a busy machine is not a drift.
        """
        key = (name, binding, sizes)
        if key not in self._drift:
            self._drift[key] = self._moved(name, binding, sizes)
        return self._drift[key]

    def _moved(self, name: str, binding: int | None, sizes: tuple[str, ...]) -> float:
        before = self.proven(name, binding, original=True)
        found = [1.0]
        for kind in {r.kind for r in self.control if self.comparable(r)}:
            known = [r for r in self.control if r.kind == kind and r.counter(name) is not None and not r.disturbed]
            rows = _of(known, binding)
            if name not in CLOCKS and self.since is not None:
                rows = [r for r in rows if r.stamp.later_than(self.since)] or rows
            if before and rows:
                recent = rows[-RECENT:]
                found.append(
                    median((r.counter(name) or 0) / (before * self.growth(r, *sizes, original=True)) for r in recent)
                )
        return max(found)


def _beyond(row: Execution, arms: _Arms, limits: Limits) -> str:
    """The first deterministic counter of one run that is beyond its limit for the size of its inputs."""
    for name, limit, slack, sizes in (
        ("scan_bytes", limits.scan, limits.slack_bytes, ("table_bytes",)),
        ("shuffle_write_bytes", limits.shuffle, limits.slack_bytes, ("input_rows",)),
        ("tasks", limits.tasks, limits.slack_tasks, ("input_rows", "scan_files", "table_bytes")),
        ("disk_spill_bytes", 1.0, limits.slack_bytes, ("input_rows",)),
        ("memory_spill_bytes", 1.0, limits.slack_bytes, ("input_rows",)),
    ):
        proven, value = arms.proven(name, row.binding), row.counter(name)
        if proven is None or value is None or value <= proven * limit + slack:
            continue  # growth and drift are at least 1: they only raise the limit
        if not any(row.counter(size) for size in sizes) or not _predictable(name, row, arms, limits):
            continue
        growth, drift = arms.growth(row, *sizes), arms.drift(name, row.binding, *sizes)
        as_original = (arms.proven(name, row.binding, original=True) or 0.0) * growth * drift
        expected = proven * growth * drift
        if value > max(expected * limit + slack, as_original):
            return (
                f"{name} {value:,} in {row.id}: {proven:,.0f} proven, inputs x{growth:.2f}, original "
                f"moved x{drift:.2f}, so {expected:,.0f} expected, at most {limit:g} x that + {slack:,}"
            )
    return ""


def _predictable(name: str, row: Execution, arms: _Arms, limits: Limits) -> bool:
    """Whether the trials tell what to expect: of scans by the size of the tables, of spills if inputs are similar."""
    if name == "scan_bytes":
        return bool(arms.proven("table_bytes", row.binding))
    return "spill" not in name or arms.growth(row, "table_bytes", "input_rows") <= limits.similar


def _slower(later: Sequence[Execution], arms: _Arms, limits: Limits) -> Regression | None:
    """A regression by clocks, adjusted for size: the whole interval of later / proven is above limit and original.

    A user's job runs on another day, on other machines and with a cold JVM, unlike the trials. So its clocks are
    compared only if original also ran there.
    """
    comparable = [
        r
        for r in later
        if not r.disturbed
        and arms.growth(r, "table_bytes", "input_rows") <= limits.similar
        and r.counters.input_rows
        and (r.source != "production" or any(c.kind == r.kind for c in arms.control))
    ]
    for name in CLOCKS:
        now: list[float] = []
        for row in comparable:
            before = _mean_log(_of(arms.policy, row.binding), name)
            if before is not None and (value := row.counter(name)):
                growth = arms.growth(row, "table_bytes", "input_rows")
                drift = arms.drift(name, row.binding, "table_bytes", "input_rows")
                now.append(math.log(value / (growth * drift)) - before)
        then = [
            math.log(value) - mean
            for r in arms.policy
            if (value := r.counter(name)) and (mean := _mean_log(_of(arms.policy, r.binding), name)) is not None
        ]
        if len(now) < limits.observations or len(then) < 2:
            continue
        low, high = _difference(now, then, limits.confidence)
        policy, original = _mean_log(arms.policy, name), _mean_log(arms.original, name)
        lost = original - policy if policy is not None and original is not None else 0.0
        if low > max(math.log(limits.clock), lost):
            ratio = math.exp(fmean(now) - fmean(then))
            reason = (
                f"{name} for the same input is {ratio:.2f} ({math.exp(low):.2f} to {math.exp(high):.2f} at "
                f"{limits.confidence:.1%}) times what was proven, over {len(now)} runs; at most {limits.clock:g}, and "
                f"original needs {math.exp(lost):.2f}"
            )
            return Regression(reason, tuple(r.id for r in comparable))
    return None


def _difference(now: Sequence[float], then: Sequence[float], confidence: float) -> tuple[float, float]:
    """Welch's confidence interval of the difference of means: runs are not paired, spreads may differ."""
    from scipy import stats

    gap = fmean(now) - fmean(then)
    parts = [variance(now) / len(now), variance(then) / len(then)]
    if sum(parts) < 1e-24:
        return gap, gap
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / (len(now) - 1) + parts[1] ** 2 / (len(then) - 1))
    reach = float(stats.t.ppf((1 + confidence) / 2, freedom)) * math.sqrt(sum(parts))
    return gap - reach, gap + reach


def _of(rows: Sequence[Execution], binding: int | None) -> list[Execution]:
    """Rows of one binding, or all rows if this binding was never tried."""
    return [r for r in rows if r.binding == binding] or list(rows)


def _mean_log(rows: Sequence[Execution], name: str) -> float | None:
    values = [math.log(value) for r in rows if (value := r.counter(name))]
    return fmean(values) if values else None
