"""Upper bound of a change's gain: the CPU of the stages it touches, and their part of the wall clock.

Worked, on 16 cores: `orders` (stage 0, 4 s in 8 tasks, so 0.5 s wall clock) and `customer` (stage 1, 0.8 s in 8 tasks,
0.1 s) feed the join (stage 2, 0.8 s in 8 tasks, 0.1 s). The longest chain is 0 -> 2: 0.6 s. A change that touches only
`customer` saves at most 0.8 s of CPU and no wall clock: without it the chain still takes 0.6 s. A change that touches
`orders` saves at most 4 s of CPU and 0.4 s wall clock: the longest chain is then 1 -> 2.

Parallel stages share the cores. So the wall clock is never below all work divided by the cores. On two cores `customer`
does count: all work is 5.6 s, so 2.8 s wall clock; without `customer` it is 2.4 s.

The prices only share out what was measured: if the query took half of the modelled CPU, every bound is half of this.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

from planopt_assets.decide.prices import dearness, execution_cpu_ns, stages_cpu_ns
from planopt_assets.model.cost_model import Prices
from planopt_assets.model.evidence import Evidence, ObservedExecution
from planopt_assets.model.signals import Stage


@dataclass(frozen=True, slots=True)
class Bound:
    """The most a change can save per run, in CPU and in wall clock, and the modelled wall clock of the query."""

    cpu_ns: int
    wall_ns: int
    modelled_wall_ns: int

    def __add__(self, other: Bound) -> Bound:
        return Bound(
            self.cpu_ns + other.cpu_ns,
            self.wall_ns + other.wall_ns,
            self.modelled_wall_ns + other.modelled_wall_ns,
        )


def gain_bound(evidence: Evidence, nodes: Collection[int]) -> Bound:
    """The bound of a change that touches these operators, over all bindings. No operators means all."""
    bounds = [_execution_bound(e, evidence.cores, nodes, evidence.prices) for e in evidence.executions]
    return sum(bounds, Bound(0, 0, 0))


def critical_path(
    stages: Sequence[Stage], costs: Mapping[int, int], cores: int, free: Collection[int] = ()
) -> tuple[int, tuple[int, ...]]:
    """The longest chain of stages, in nanoseconds and as stage numbers. Stages in `free` cost nothing.

    >>> scan = Stage(0, feeds=(), tasks=4, rows=1_000_000, files=0, shuffle_partitions=0)
    >>> last = Stage(1, feeds=(0,), tasks=1, rows=95_000, files=0, shuffle_partitions=0)
    >>> critical_path([scan, last], {0: 1_000_000_000, 1: 100_000_000}, cores=2)
    (600000000, (0, 1))
    """
    by_index = {s.index: s for s in stages}
    graph = {s.index: [f for f in s.feeds if f in by_index] for s in stages}
    longest: dict[int, tuple[int, tuple[int, ...]]] = {}
    for index in TopologicalSorter(graph).static_order():
        # On a tie the chain with the lower stage numbers wins, so the answer is always the same.
        before = min((longest[f] for f in graph[index]), key=lambda c: (-c[0], c[1]), default=(0, ()))
        own = 0 if index in free else stage_wall_ns(by_index[index], costs[index], cores)
        longest[index] = (before[0] + own, (*before[1], index))
    return min(longest.values(), key=lambda c: (-c[0], c[1]), default=(0, ()))


def stage_wall_ns(stage: Stage, cpu_ns: int, cores: int) -> int:
    """Wall clock of a stage: its tasks share the cores. With fewer tasks than cores, some cores are idle."""
    return cpu_ns // max(1, min(cores, stage.tasks))


def _execution_bound(execution: ObservedExecution, cores: int, nodes: Collection[int], prices: Prices) -> Bound:
    stages, share = execution.stages, dearness(execution, prices)
    if not stages:
        whole = execution_cpu_ns(execution, prices)
        return Bound(whole, whole, whole)  # stages are unknown, so only the whole query is a safe bound
    touched = {s.index for s in stages if set(s.nodes) & set(nodes)}
    if not touched:  # no operators given, or none of them in this binding's plan: the bound must never be too low
        touched = {s.index for s in stages}
    costs = stages_cpu_ns(execution, prices)
    wall = _wall_ns(stages, costs, cores, ())
    return Bound(
        round(share * sum(costs[index] for index in touched)),
        round(share * (wall - _wall_ns(stages, costs, cores, touched))),
        prices.query_ns + round(share * wall),
    )


def _wall_ns(stages: Sequence[Stage], costs: Mapping[int, int], cores: int, free: Collection[int]) -> int:
    work = sum(cost for index, cost in costs.items() if index not in free)
    return max(critical_path(stages, costs, cores, free)[0], work // cores)
