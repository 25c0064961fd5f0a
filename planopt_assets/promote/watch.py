"""Watch: does the policy in force still perform as in its trials? Pure: executions in, a regression or nothing out.

Runs under the policy (`later`) are compared with control runs, which were drawn to run as original at the same time,
and with the verdict's trials of both arms (`evidence`). Runs of original outside trials (`control`) tell data that
changed from a policy that got worse. No answer rests on one run: see `runs` and `error` in `Limits`. An unknown counter
is not compared, and neither are counters of another number of cores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from planopt_assets.model.execution import Execution
from planopt_assets.model.stamp import Stamp
from planopt_assets.model.workload import Objective
from planopt_assets.promote.against_controls import Compared, against_controls
from planopt_assets.promote.level_change import change_evidence
from planopt_assets.promote.proven_levels import ProvenLevels

CPU, WALL = "executor_cpu_ns", "wall_ns"  # of a user's job the CPU of the driver is not known
_OF_OBJECTIVE: Mapping[Objective, str] = {"cpu": CPU, "latency": WALL}
_SIZES = ("table_bytes", "input_rows")


@dataclass(frozen=True, slots=True)
class Clock:
    """How far a clock may be above its trials where there are no controls: other machines, a cold JVM, busy days."""

    limit: float
    slack_ns: int


@dataclass(frozen=True, slots=True)
class Limits:
    """How far later runs may be from the evidence. Wider than the judge's limits, because runs are not paired here."""

    scan: float = 1.10
    shuffle: float = 1.25
    tasks: float = 2.0
    slack_bytes: int = 1 << 20
    slack_tasks: int = 8
    runs: int = 3  # the newest ones must all be beyond a limit of a counter
    cpu: Clock = Clock(4.0, 5 * 10**9)
    wall: Clock = Clock(6.0, 20 * 10**9)
    slower_than_original: float = 1.05  # of a clock that is not the objective
    error: float = 0.01  # of each comparison of clocks, for the whole life of a promotion
    beyond_by_chance: float = 0.1  # share of runs of an unchanged policy that are beyond a clock's limit
    waits: int = 20  # runs beyond a limit before a query with controls is judged without a new one
    similar: float = 2.0  # if inputs grew more, spill and clocks cannot be predicted


@dataclass(frozen=True, slots=True)
class Regression:
    """Why a policy must go, with numbers, and the ids of the rows behind it.

    `outgrown`: the inputs are not those of the evidence any more, so the policy is not to blame, but not proven either.
    """

    reason: str
    evidence: tuple[str, ...]
    outgrown: bool = False


def regression(
    evidence: Sequence[Execution],
    later: Sequence[Execution],
    control: Sequence[Execution] = (),
    limits: Limits | None = None,
    since: Stamp | None = None,
    objective: Objective = "cpu",
) -> Regression | None:
    """The first sign that the policy got worse. None: there is none, or too little data. `since` is its promotion.

    Worked: the trials shuffled 800 bytes per row and read 1,000,000 rows. Later runs read 2,000,000 rows. 1.6 GB are
    expected, and up to 1.25 times that is within the limit. Three runs of 2.4 GB are a regression, unless original
    needs as much.
    """
    limits = limits or Limits()
    proven = ProvenLevels(evidence, control, since)
    if slower := _slower_than_controls(proven, later, control, limits, objective):
        return slower
    runs = [row for row in later if proven.comparable(row) and not row.disturbed]
    return _dearer(proven, runs, limits) or slower_than_trials(proven, runs, limits) or _outgrown(proven, runs, limits)


def _slower_than_controls(
    proven: ProvenLevels,
    later: Sequence[Execution],
    control: Sequence[Execution],
    limits: Limits,
    objective: Objective,
) -> Regression | None:
    """A clock of the policy is above that of control runs, by more than the verdict allowed, at the error stated."""
    drawn = [r for r in control if r.control and (proven.since is None or r.stamp.later_than(proven.since))]
    ran = [run for run in later if run.source == "production" and run.action != "other"]
    allowed = {clock: _allowed(proven, clock, limits, objective) for clock in (CPU, WALL)}
    for found in against_controls(ran, [run for run in drawn if run.action != "other"], allowed):
        if found.evidence >= len(allowed) / limits.error:
            return Regression(_told(found, allowed[found.clock], limits), found.controls)
    return None


def _allowed(proven: ProvenLevels, clock: str, limits: Limits, objective: Objective) -> float:
    """The objective must not be above original. The other clock may be what the verdict saw, and a little more."""
    if clock == _OF_OBJECTIVE.get(objective):
        return 1.0
    policy, original = proven.level(clock, None), proven.level(clock, None, original=True)
    return max(limits.slower_than_original, policy / original if policy and original else 0.0)


def _told(found: Compared, allowed: float, limits: Limits) -> str:
    return (
        f"{found.clock} is {found.ratio:.2f} times that of control runs, which run as original ({len(found.controls)} "
        f"controls among their neighbours; at most {allowed:.2f}; evidence {found.evidence:.3g}, "
        f"error at most {limits.error:.1%})"
    )


def _dearer(proven: ProvenLevels, runs: Sequence[Execution], limits: Limits) -> Regression | None:
    """A deterministic counter of which all the newest runs are beyond the limit for the size of their inputs."""
    newest = runs[-limits.runs :]
    if len(newest) < limits.runs:
        return None
    for counter in _COUNTERS:
        beyond = [_beyond(row, counter, proven, limits) for row in newest]
        if all(beyond):
            return Regression(f"{beyond[-1]}; so were the {limits.runs} newest runs", tuple(r.id for r in newest))
    return None


@dataclass(frozen=True, slots=True)
class _Counter:
    name: str
    limit: str  # of `Limits`; empty: none at all
    slack: str
    sizes: tuple[str, ...]  # what it grows with


_COUNTERS = (
    _Counter("scan_bytes", "scan", "slack_bytes", ("table_bytes",)),
    _Counter("shuffle_write_bytes", "shuffle", "slack_bytes", ("input_rows",)),
    _Counter("tasks", "tasks", "slack_tasks", ("input_rows", "scan_files", "table_bytes")),
    _Counter("disk_spill_bytes", "", "slack_bytes", ("input_rows",)),
    _Counter("memory_spill_bytes", "", "slack_bytes", ("input_rows",)),
)


def _beyond(row: Execution, counter: _Counter, proven: ProvenLevels, limits: Limits) -> str:
    """Why the counter of one run is beyond its limit. Empty if it is not, or cannot be predicted."""
    name, sizes = counter.name, counter.sizes
    limit, slack = float(getattr(limits, counter.limit)) if counter.limit else 1.0, int(getattr(limits, counter.slack))
    expected, value = proven.level(name, row.binding), row.counter(name)
    if expected is None or value is None or value <= expected * limit + slack:
        return ""  # growth and drift are at least 1: they only raise the limit
    if not proven.sized(row, *sizes) or ("spill" in name and proven.growth(row, *_SIZES) > limits.similar):
        return ""
    growth, drift = proven.growth(row, *sizes), proven.drift(name, row.binding, *sizes)
    as_original = (proven.level(name, row.binding, original=True) or 0.0) * growth * drift
    adjusted = expected * growth * drift
    if value <= max(adjusted * limit + slack, as_original):
        return ""
    return (
        f"{name} {value:,} in {row.id}: {expected:,.0f} proven, inputs x{growth:.2f}, original moved x{drift:.2f}, "
        f"so {adjusted:,.0f} expected, at most {limit:g} x that + {slack:,}"
    )


def slower_than_trials(proven: ProvenLevels, runs: Sequence[Execution], limits: Limits) -> Regression | None:
    """A clock far above the trials, in more runs than chance explains.

    Without controls nobody knows what original would take on this machine and day. So a run counts only if it is far
    above both arms of the trials, adjusted for size and for what is known of original since. Where there are controls,
    the next one is waited for: it tells a slower machine from a slower policy.
    """
    known = [row for row in runs if proven.sized(row, *_SIZES) and proven.growth(row, *_SIZES) <= limits.similar]
    for name, clock in ((CPU, limits.cpu), (WALL, limits.wall)):
        first = next((row.stamp for row in known if (_excess(row, name, clock, proven) or 0.0) > 1), None)
        if first is None:
            continue
        steps = [(row, _excess(row, name, clock, proven, first)) for row in known]
        seen = [(row, excess) for row, excess in steps if excess is not None]
        slow = [(row, excess) for row, excess in seen if excess > 1]
        if proven.drawn() and not proven.drawn(first) and len(slow) < limits.waits:
            continue
        found = change_evidence(_chances(excess > 1, limits.beyond_by_chance) for _, excess in seen)
        if found >= 2 / limits.error:
            times = median(excess for _, excess in slow)
            reason = (
                f"{name} is beyond its limit in {len(slow)} of {len(seen)} runs, {times:.2f} times the limit in the "
                f"median: {clock.limit:g} x what the trials needed for inputs of this size + {clock.slack_ns:,}; "
                f"evidence {found:.3g}, error at most {limits.error:.1%} where chance explains one run in "
                f"{1 / limits.beyond_by_chance:.0f}"
            )
            return Regression(reason, tuple(row.id for row, _ in slow))
    return None


def _excess(row: Execution, name: str, clock: Clock, proven: ProvenLevels, after: Stamp | None = None) -> float | None:
    """A clock over its limit: above 1 it is beyond."""
    levels = [proven.level(name, row.binding), proven.level(name, row.binding, original=True)]
    value, base = row.counter(name), max((level for level in levels if level), default=0.0)
    if not value or not base:
        return None
    expected = base * proven.growth(row, *_SIZES) * proven.drift(name, row.binding, *_SIZES, after=after)
    return value / (expected * clock.limit + clock.slack_ns)


def _chances(beyond: bool, by_chance: float) -> tuple[float, ...]:
    """The bets of `change_evidence`: that half of the runs, or nine in ten, are beyond the limit now."""
    return tuple(now / by_chance if beyond else (1 - now) / (1 - by_chance) for now in (0.5, 0.9))


def _outgrown(proven: ProvenLevels, runs: Sequence[Execution], limits: Limits) -> Regression | None:
    """The newest runs read far more than the trials, and show harm: they spill, or are slower than size explains."""
    newest = runs[-limits.runs :]
    if len(newest) < limits.runs or any(proven.growth(row, *_SIZES) <= limits.similar for row in newest):
        return None
    harm = [_harm(row, proven, limits) for row in newest]
    if not all(harm):
        return None
    growth = proven.growth(newest[-1], *_SIZES)
    reason = f"inputs are x{growth:.1f} of what it was proven on, and {harm[-1]}; so were the {limits.runs} newest runs"
    return Regression(reason, tuple(row.id for row in newest), outgrown=True)


def _harm(row: Execution, proven: ProvenLevels, limits: Limits) -> str:
    for name in ("disk_spill_bytes", "memory_spill_bytes"):
        value, before = row.counter(name) or 0, proven.level(name, row.binding) or 0.0
        if value > before + limits.slack_bytes:
            return f"{name} is {value:,} in {row.id}, {before:,.0f} were proven"
    for name, clock in ((CPU, limits.cpu), (WALL, limits.wall)):
        if (excess := _excess(row, name, clock, proven)) is not None and excess > 1:
            return f"{name} is {excess:.2f} times its limit for that size in {row.id}"
    return ""
