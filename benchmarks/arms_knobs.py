"""What a simple tuner tries next on a query, from what it has run so far. Pure, so that a given budget is spent alike.

`three_knobs` is what anybody could write in an afternoon: one knob after the other, each value on top of the best so
far, and the rest of the budget for the best ones again, since one run proves little. `grid` tries all combinations of
four knobs once, then the best ones again. The best median CPU is taken; without a better one, original.

Worked, 10 runs: original to warm up, original, 8 and 2 partitions, with the better of them broadcasts of 64 and of
32 MB, on the best of these splits of 64 MB: 7 runs for original and 5 combinations. The other 3 go to the best three.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import median

from planopt_assets.model.policy import ORIGINAL, Policy

_MB = 1 << 20
Knobs = Mapping[str, tuple[str, ...]]
"""The values of each knob to try beside its default, the most promising first."""
THREE: Knobs = {
    "spark.sql.shuffle.partitions": ("8", "2"),
    "spark.sql.autoBroadcastJoinThreshold": (str(64 * _MB), str(32 * _MB)),
    "spark.sql.files.maxPartitionBytes": (str(64 * _MB), str(512 * _MB)),
}
FOUR: Knobs = {
    "spark.sql.shuffle.partitions": ("8", "2", "32"),
    "spark.sql.autoBroadcastJoinThreshold": (str(64 * _MB), str(32 * _MB), "-1"),
    "spark.sql.files.maxPartitionBytes": (str(64 * _MB), str(512 * _MB)),
    "spark.sql.join.preferSortMergeJoin": ("false",),
}
_LEADERS = 3  # that are run again
_LEADERS_OF_GRID = 5  # with so many more candidates, more are lucky
_RUNS = 3  # of each leader of the grid


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a query, all bindings, in one combination. No CPU: it failed, or returned something else."""

    policy: Policy
    cpu_s: float | None


def combinations(knobs: Knobs) -> list[Policy]:
    """Every combination, original first; a knob at its default is not set.

    >>> [p.describe() for p in combinations({"a": ("1", "2"), "b": ("3",)})]
    ['original', 'b=3', 'a=1', 'a=1, b=3', 'a=2', 'a=2, b=3']
    """
    values = [(None, *some) for some in knobs.values()]
    found = ({n: v for n, v in zip(knobs, chosen, strict=True) if v is not None} for chosen in product(*values))
    return [Policy.of(settings) for settings in found]


def next_of_three(ran: Sequence[Ran], runs: int, knobs: Knobs = THREE) -> Policy | None:
    """The combination to run now, with so many runs in all. None: they are spent, or original fails."""
    if len(ran) >= runs or _original_fails(ran):
        return None
    if len(ran) < 2:
        return ORIGINAL
    medians, tried = _medians(ran), {r.policy for r in ran}
    if len(tried) < max(2, runs * 2 // 3) and (fresh := _fresh(medians, tried, knobs)) is not None:
        return fresh
    return _fewest_runs(ran, _best(medians)[:_LEADERS])


def next_of_grid(ran: Sequence[Ran], knobs: Knobs = FOUR) -> Policy | None:
    """The combination to run now. None: all were tried and the best ones are measured, or original fails."""
    if _original_fails(ran):
        return None
    if len(ran) < 2:
        return ORIGINAL
    tried = {r.policy for r in ran}
    fresh = next((p for p in combinations(knobs) if p not in tried), None)
    if fresh is not None:
        return fresh
    again = _fewest_runs(ran, _best(_medians(ran))[:_LEADERS_OF_GRID])
    return again if sum(r.policy == again for r in ran[1:]) < _RUNS else None


def best(ran: Sequence[Ran]) -> Policy:
    """The combination with the lowest median CPU. It is original where that has none."""
    medians = _medians(ran)
    return _best(medians)[0] if ORIGINAL in medians else ORIGINAL


def shares(executions: int, bindings: Mapping[str, int]) -> dict[str, int]:
    """How many runs each query gets: equal shares of the executions. What does not make a whole run goes to the next.

    >>> shares(20, {"q1": 1, "q2": 2, "q3": 1})
    {'q1': 7, 'q2': 3, 'q3': 7}
    """
    found, left = {}, 0
    for number, (query, each) in enumerate(bindings.items()):
        left += executions // len(bindings) + (number < executions % len(bindings))
        found[query], left = divmod(left, each)
    return found


def _original_fails(ran: Sequence[Ran]) -> bool:
    return any(r.policy == ORIGINAL and r.cpu_s is None for r in ran)


def _medians(ran: Sequence[Ran]) -> dict[Policy, float]:
    """Without the first run, which warms up; a combination that failed once is out."""
    found: dict[Policy, list[float | None]] = {}
    for one in ran[1:]:
        found.setdefault(one.policy, []).append(one.cpu_s)
    return {
        policy: median(times)
        for policy, cpu in found.items()
        if len(times := [c for c in cpu if c is not None]) == len(cpu)
    }


def _best(medians: Mapping[Policy, float]) -> list[Policy]:
    return sorted(medians, key=lambda policy: medians[policy])


def _fewest_runs(ran: Sequence[Ran], leaders: Sequence[Policy]) -> Policy:
    return min(leaders, key=lambda policy: sum(r.policy == policy for r in ran[1:]))


def _fresh(medians: Mapping[Policy, float], tried: set[Policy], knobs: Knobs) -> Policy | None:
    """Knob by knob, on top of the best so far; after the last one, what is left of all combinations."""
    base = ORIGINAL
    for name, values in knobs.items():
        own = [base.merged(Policy.of({name: value})) for value in values]
        if (fresh := next((p for p in own if p not in tried), None)) is not None:
            return fresh
        base = min((p for p in (base, *own) if p in medians), key=lambda policy: medians[policy])
    return next((p for p in combinations(knobs) if p not in tried), None)
