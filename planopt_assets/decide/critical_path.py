"""How much a change can gain at most: the stages it touches, and what they add to the time the query takes.

Worked, on 16 cores: `orders` (stage 0, 4 s in 8 tasks, so 0.5 s by the clock) and `customer` (stage 1, 0.8 s in 8
tasks, 0.1 s) feed the join (stage 2, 0.8 s in 8 tasks, 0.1 s). The longest chain is 0 -> 2: 0.6 s. A change that
touches only `customer` can save at most 0.8 s of CPU and nothing by the clock: without it the chain is still 0.6 s.
One that touches `orders` can save 4 s of CPU and 0.4 s by the clock: the chain is then 1 -> 2.

Stages beside each other share the cores. So the clock can never be below all work divided by the cores, and on two
cores `customer` does count: all work is 5.6 s, 2.8 s by the clock; without `customer` 2.4 s.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

from planopt_assets.decide.prices import CPU_PER_QUERY_NS, execution_cpu_ns, stage_cpu_ns
from planopt_assets.model.evidence import Evidence, ObservedExecution
from planopt_assets.model.signals import Stage


@dataclass(frozen=True, slots=True)
class Bound:
    """What a change can save at most per run, and what of the clock it can be a part of."""

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
    """The bound over all bindings of a change that touches these operators; none named means all."""
    bounds = [_execution_bound(e, evidence.cores, nodes) for e in evidence.executions]
    return sum(bounds, Bound(0, 0, 0))


def critical_path(stages: Sequence[Stage], cores: int, free: Collection[int] = ()) -> tuple[int, tuple[int, ...]]:
    """The chain of stages that takes longest, in nanoseconds and as stage numbers; `free` stages cost nothing.

    >>> scan = Stage(0, feeds=(), tasks=4, rows=1_000_000, files=0, shuffle_partitions=0)
    >>> critical_path([scan, Stage(1, feeds=(0,), tasks=1, rows=95_000, files=0, shuffle_partitions=0)], cores=2)
    (610000000, (0, 1))
    """
    by_index = {s.index: s for s in stages}
    graph = {s.index: [f for f in s.feeds if f in by_index] for s in stages}
    longest: dict[int, tuple[int, tuple[int, ...]]] = {}
    for index in TopologicalSorter(graph).static_order():
        # Of two chains that take the same time, the one that begins with the lower stages: always the same answer.
        before = min((longest[f] for f in graph[index]), key=lambda c: (-c[0], c[1]), default=(0, ()))
        own = 0 if index in free else stage_wall_ns(by_index[index], cores)
        longest[index] = (before[0] + own, (*before[1], index))
    return min(longest.values(), key=lambda c: (-c[0], c[1]), default=(0, ()))


def stage_wall_ns(stage: Stage, cores: int) -> int:
    """A stage by the clock: its tasks share the cores, and fewer tasks than cores leave some idle."""
    return stage_cpu_ns(stage) // max(1, min(cores, stage.tasks))


def _execution_bound(execution: ObservedExecution, cores: int, nodes: Collection[int]) -> Bound:
    stages = execution.stages
    if not stages:
        whole = execution_cpu_ns(execution)
        return Bound(whole, whole, whole)  # no stage is known: nothing lower can be promised
    touched = {s.index for s in stages if set(s.nodes) & set(nodes)}
    if not touched:  # every operator, or operators this binding's plan does not have: a bound may never be too low
        touched = {s.index for s in stages}
    wall = _wall_ns(stages, cores)
    return Bound(
        sum(stage_cpu_ns(s) for s in stages if s.index in touched),
        wall - _wall_ns(stages, cores, touched),
        CPU_PER_QUERY_NS + wall,
    )


def _wall_ns(stages: Sequence[Stage], cores: int, free: Collection[int] = ()) -> int:
    work = sum(stage_cpu_ns(s) for s in stages if s.index not in free)
    return max(critical_path(stages, cores, free)[0], work // cores)
