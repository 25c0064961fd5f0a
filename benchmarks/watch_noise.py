"""How the clock of a recurring job varies from run to run, as logarithms of a factor, around a spread of 20 %."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator

Noise = Callable[[random.Random], Iterator[float]]
SPREAD = 0.2


def normal(draw: random.Random) -> Iterator[float]:
    while True:
        yield draw.gauss(0.0, SPREAD)


def heavy_tailed(draw: random.Random) -> Iterator[float]:
    """Student's t with two degrees of freedom: it has no variance."""
    while True:
        yield 0.6 * SPREAD * draw.gauss(0.0, 1.0) / math.sqrt(max(draw.gammavariate(1.0, 1.0), 1e-9))


def autocorrelated(draw: random.Random) -> Iterator[float]:
    """Each run keeps 80 % of what slowed down the one before it."""
    level = 0.0
    while True:
        level = 0.8 * level + draw.gauss(0.0, 0.6 * SPREAD)
        yield level


def drifting(draw: random.Random) -> Iterator[float]:
    """The level itself wanders: after 400 runs it is twice or half as high."""
    level = 0.0
    while True:
        level += draw.gauss(0.0, 0.035)
        yield level + draw.gauss(0.0, SPREAD / 2)


def bursts(draw: random.Random) -> Iterator[float]:
    """Now and then the machine is three times slower, for 5 to 30 runs."""
    left = 0
    while True:
        left = draw.randint(5, 30) if left == 0 and draw.random() < 0.02 else max(0, left - 1)
        yield draw.gauss(0.0, SPREAD / 2) + (math.log(3.0) if left else 0.0)


NOISES: tuple[Noise, ...] = (normal, heavy_tailed, autocorrelated, drifting, bursts)
