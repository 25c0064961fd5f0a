"""How the clocks of one execution after the other may vary: drawn noise, and noise that was recorded."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, count

from benchmarks.aa_sample import Sample, resampled

Clocks = tuple[float, float]  # factors on CPU and on the wall clock of one execution
Noise = Callable[[random.Random], Iterator[Clocks]]
"""The executions of one trial, in the order they run: baseline or candidate, noise does not know which."""

SPREAD = 0.10


def normal(draw: random.Random) -> Iterator[Clocks]:
    """Log-normal; half of the wall clock's variance is the CPU's."""
    while True:
        yield _clocks(draw.gauss(0.0, SPREAD), draw.gauss(0.0, SPREAD))


def heavy_tailed(draw: random.Random) -> Iterator[Clocks]:
    """Student's t with 3 degrees of freedom, of the same spread: one execution in 100 is off by a quarter."""
    while True:
        yield _clocks(*(SPREAD * _student(draw, 3) / math.sqrt(3.0) for _ in range(2)))


def autocorrelated(draw: random.Random, keeps: float = 0.7) -> Iterator[Clocks]:
    """Each execution keeps 70 % of what slowed down the one before it."""
    fresh = SPREAD * math.sqrt(1 - keeps**2)
    cpu, wall = draw.gauss(0.0, SPREAD), draw.gauss(0.0, SPREAD)
    while True:
        yield _clocks(cpu, wall)
        cpu, wall = keeps * cpu + draw.gauss(0.0, fresh), keeps * wall + draw.gauss(0.0, fresh)


def drifting(draw: random.Random) -> Iterator[Clocks]:
    """Every execution is up to 3 % slower, or faster, than the one before it, all night."""
    step = draw.uniform(-0.03, 0.03)
    for number in count():
        yield _clocks(draw.gauss(0.0, SPREAD), draw.gauss(0.0, SPREAD), level=step * number)


def bursts(draw: random.Random) -> Iterator[Clocks]:
    """Somebody else's job takes half of the machine for four executions on average, a sixth of the time."""
    busy = draw.random() < 1 / 6
    while True:
        slowed = math.log(1.5) if busy else 0.0
        yield _clocks(draw.gauss(0.0, SPREAD / 2), draw.gauss(0.0, SPREAD / 2), level=slowed)
        busy = draw.random() < (0.75 if busy else 0.05)


def recorded(sample: Sample) -> Noise:
    """What real executions of one query differed by, in the order they ran; another query once they are used up."""

    def played(draw: random.Random) -> Iterator[Clocks]:
        while True:
            pairs = sample[draw.choice(sorted(sample))]
            ran = list(chain.from_iterable((p.baseline.counters, p.twin.counters) for p in resampled(pairs, draw)))
            cpu, wall = (statistics.fmean(math.log(getattr(r, n)) for r in ran) for n in ("cpu_ns", "wall_ns"))
            yield from ((r.cpu_ns / math.exp(cpu), r.wall_ns / math.exp(wall)) for r in ran)

    return played


def noises(sample: Sample) -> Mapping[str, Noise]:
    drawn = {f.__name__.replace("_", "-"): f for f in (normal, heavy_tailed, autocorrelated, drifting, bursts)}
    return {**drawn, "recorded": recorded(sample)}


def _clocks(cpu: float, other: float, level: float = 0.0) -> Clocks:
    return math.exp(level + cpu), math.exp(level + (cpu + other) / math.sqrt(2.0))


def _student(draw: random.Random, degrees: int) -> float:
    squares = sum(draw.gauss(0.0, 1.0) ** 2 for _ in range(degrees))
    return draw.gauss(0.0, 1.0) / math.sqrt(squares / degrees)
