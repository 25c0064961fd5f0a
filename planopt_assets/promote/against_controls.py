"""Is a policy slower than original? Runs under it against control runs, which were drawn to run as original. Pure.

Each control is ranked among as many runs under the policy before it as after it. If the policy is no slower, each rank
is as likely as any other: the control was drawn, and its neighbours ran on the same days, tables and machines. A trend
puts the control in the middle, which counts against a change. Ranks ask nothing of the noise, not even a mean.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median

from planopt_assets.model.execution import Execution
from planopt_assets.promote.level_change import change_evidence

NEIGHBOURS = 8  # runs under the policy on each side of a control
LEAST_NEIGHBOURS = 3
NEWEST = 5  # controls that tell how much slower the policy is now
TILTS = (1.0, 3.0, 9.0, 27.0)  # from a policy that is a little slower to one that is far slower


@dataclass(frozen=True, slots=True)
class Compared:
    """What the controls say about one clock."""

    clock: str
    evidence: float  # `change_evidence`; beyond 1 / error it is a change
    controls: tuple[str, ...]  # ids of the controls that had enough neighbours
    ratio: float  # policy over control, median of the newest controls


def against_controls(
    under_policy: Sequence[Execution], controls: Sequence[Execution], allowed: Mapping[str, float]
) -> list[Compared]:
    """Each clock in `allowed` is compared: by how much the policy may be slower there, 1.05 being five percent.

    Both kinds of runs are in the order they were stored. Runs are compared with runs that did the same: same action,
    binding and number of cores. A failed run is slower than any other.
    """
    return [_compared(clock, limit, under_policy, controls) for clock, limit in allowed.items()]


def _compared(clock: str, limit: float, under_policy: Sequence[Execution], controls: Sequence[Execution]) -> Compared:
    ranked = ranked_controls(clock, limit, under_policy, controls)
    evidence = change_evidence(one.factors for one in ranked)
    ratio = median(one.ratio for one in ranked[-NEWEST:]) if ranked else 1.0
    return Compared(clock, evidence, tuple(one.control.id for one in ranked), ratio)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A control among its neighbours."""

    control: Execution
    known_at: Execution  # its last neighbour
    factors: tuple[float, ...]  # of `change_evidence`
    ratio: float  # policy over control
    dearer: bool  # than most of its neighbours


def ranked_controls(
    clock: str, limit: float, under_policy: Sequence[Execution], controls: Sequence[Execution]
) -> list[Ranked]:
    """Every control that has its neighbours, in the order in which its rank was known."""
    alike: dict[tuple[object, ...], list[_Run]] = {_kind(run): [] for run in controls}
    for runs, share, drawn in ((under_policy, limit, False), (controls, 1.0, True)):
        for run in runs:
            cost = _cost(run, clock, share)
            if cost is not None and (kind := _kind(run)) in alike:
                alike[kind].append(_Run(run, cost, drawn))
    found = []
    for same in alike.values():
        same.sort(key=lambda one: _moment(one.run))
        found += [_ranked(same, at, nearby, limit) for at, nearby in _blocks(same)]
    return sorted(found, key=lambda one: _moment(one.known_at))


@dataclass(frozen=True, slots=True)
class _Run:
    run: Execution
    cost: float
    control: bool


def _ranked(runs: Sequence[_Run], at: int, neighbours: Sequence[int], limit: float) -> Ranked:
    own, around = runs[at].cost, median(runs[i].cost for i in neighbours) * limit
    ratio = around / own if own < math.inf else 0.0
    dearer = sum(runs[i].cost < own for i in neighbours) > len(neighbours) / 2
    return Ranked(runs[at].run, runs[neighbours[-1]].run, _factors(runs, at, neighbours), ratio, dearer)


def _moment(run: Execution) -> tuple[object, ...]:
    return run.stamp.sequence, run.stamp.recorded_at


def _kind(run: Execution) -> tuple[object, ...]:
    return *run.kind, run.binding, run.cores


def _cost(run: Execution, clock: str, share: float) -> float | None:
    if run.status == "failed":
        return math.inf
    value = run.counter(clock)
    return value / share if value else None


def _blocks(runs: Sequence[_Run]) -> list[tuple[int, list[int]]]:
    """Each control with its neighbours, by position. No run is the neighbour of two controls: ranks are independent.

    A control waits until as many runs have followed it as it has neighbours before it.
    """
    found: list[tuple[int, list[int]]] = []
    tuned = [place for place, one in enumerate(runs) if not one.control]
    used = 0  # of `tuned`
    for at in (place for place, one in enumerate(runs) if one.control):
        middle = bisect(tuned, at)
        before = tuned[max(used, middle - NEIGHBOURS) : middle]
        after = tuned[middle : middle + len(before)]
        if len(before) < LEAST_NEIGHBOURS:
            continue
        if len(after) < len(before):
            break
        found.append((at, [*before, *after]))
        used = middle + len(after)
    return found


def _factors(runs: Sequence[_Run], at: int, neighbours: Sequence[int]) -> tuple[float, ...]:
    """The bets on the rank of a control: the lower it is, the more they win. Over all ranks each has a mean of 1."""
    own, others = runs[at].cost, [runs[i].cost for i in neighbours]
    lower, ties = sum(cost < own for cost in others), sum(cost == own for cost in others)
    return tuple(
        sum(bets[lower : lower + ties + 1]) / (ties + 1) for bets in (_bets(len(others) + 1, t) for t in TILTS)
    )


@cache
def _bets(ranks: int, tilt: float) -> tuple[float, ...]:
    """
    >>> [round(bet, 2) for bet in _bets(5, 3.0)]
    [2.7, 1.28, 0.6, 0.28, 0.13]
    """
    weights = [math.exp(-tilt * rank / (ranks - 1)) for rank in range(ranks)]
    return tuple(ranks * weight / sum(weights) for weight in weights)
