"""`make bench ARGS=watch`: how often watch takes back a good policy, and how soon it finds a bad one. Simulated.

Jobs run one after the other; one run in 20 is a control. The clocks are those of `watch_noise.py`. The answers are
those of the functions that watch itself uses, asked after every run.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from statistics import median
from typing import Any

from benchmarks.watch_noise import NOISES, Noise
from planopt_assets.model.counters import Counters
from planopt_assets.model.execution import Execution
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.stamp import Stamp
from planopt_assets.promote.against_controls import ranked_controls
from planopt_assets.promote.level_change import held_after
from planopt_assets.promote.proven_levels import ProvenLevels
from planopt_assets.promote.watch import CPU, Limits, slower_than_trials

SHARE = 0.05
EFFECTS = {1.1: 12_000, 1.3: 4_000, 2.0: 1_500, 20.0: 500}  # how much slower than original, and runs to wait for it
A_YEAR = {"nightly": 365, "hourly": 8760}
START = datetime(2026, 1, 1, tzinfo=UTC)
GAIN = 0.7  # the policy in its trials, of original
BASE_NS = 60 * 10**9  # original takes a minute


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make bench ARGS=watch", description=__doc__)
    parser.add_argument("--lives", type=int, default=100, help="simulated queries for each number")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    if options.json:
        print(json.dumps([figures(noise, options.lives) for noise in NOISES], indent=2))
        return 0
    for number, noise in enumerate(NOISES):  # each takes a while: it is shown at once
        row = figures(noise, options.lives)
        if number == 0:
            print("| " + " | ".join(row) + " |\n|" + "---|" * len(row))
        print("| " + " | ".join(map(str, row.values())) + " |", flush=True)
    return 0


def figures(noise: Noise, lives: int) -> dict[str, Any]:
    """One line of the table: false reverts in a year, and runs until a slower policy is found (median, 90 %)."""
    found: dict[str, Any] = {"noise": noise.__name__.replace("_", "-")}
    for name, runs in A_YEAR.items():
        wrong = sum(noticed(Life(noise, 1.0, seed), runs) is not None for seed in range(lives))
        found[f"false reverts, {name}"] = f"{wrong} of {lives}"
    for effect, most in EFFECTS.items():
        for since, after in (("", 0), (" after 1,000 runs", 1000)):
            delays = [noticed(Life(noise, effect, seed, after), after + most) for seed in range(lives // 4)]
            runs = sorted(math.inf if delay is None else delay - after for delay in delays)
            found[f"x{effect:g}{since}"] = f"{_whole(median(runs))} ({_whole(runs[9 * len(runs) // 10])})"
    return found


class Life:
    """The runs of one query: which are controls, and how long each takes."""

    def __init__(self, noise: Noise, effect: float, seed: int, changed_at: int = 0, before: float = GAIN) -> None:
        self._noise, self._effect, self._seed = noise, effect, seed
        self._changed_at, self._before = changed_at, before

    def runs(self) -> Iterator[Execution]:
        """Until `changed_at` the policy is as good as in its trials; then it takes `effect` times original's time."""
        draw = random.Random(f"{self._noise.__name__} {self._seed}")  # a simulation
        for number, level in enumerate(self._noise(draw)):
            control = draw.random() < SHARE
            factor = 1.0 if control else self._before if number < self._changed_at else self._effect
            yield run(number, BASE_NS * factor * math.exp(level), control=control)


def run(number: int, clock_ns: float, *, control: bool = False, source: Any = "production") -> Execution:
    counters = Counters(**_QUIET | {CPU: int(clock_ns), "wall_ns": int(clock_ns)})
    stamp = Stamp("run", START + timedelta(hours=number), sequence=number + 1)
    policy = ORIGINAL.id if control else "pol_simulated"
    return Execution(f"exe-{number}", "q", source, policy, 0, counters, "frame", "ok", None, 2, control, stamp=stamp)


_QUIET = dict.fromkeys(Counters.names(), 0) | {"input_rows": 10**6}
TRIALS = [run(n, BASE_NS * (1.0 if n % 2 else GAIN), control=bool(n % 2), source="trial") for n in range(12)]


def noticed(life: Life, most: int) -> int | None:
    """The number of runs after which watch takes the policy back; None: not within `most`."""
    runs = list(islice(life.runs(), most))
    by_controls = _by_controls(runs)
    by_trials = _by_trials(runs[: by_controls or most])
    return min((n for n in (by_controls, by_trials) if n is not None), default=None)


def _by_controls(runs: Sequence[Execution]) -> int | None:
    ranked = ranked_controls(CPU, 1.0, [r for r in runs if not r.control], [r for r in runs if r.control])
    path = held_after(one.factors for one in ranked)
    limit = 2 / Limits().error
    return next((one.known_at.stamp.sequence for one, held in zip(ranked, path, strict=True) if held >= limit), None)


def _by_trials(runs: Sequence[Execution]) -> int | None:
    """Against the trials it is asked where it can have an answer: while runs are beyond the limit."""
    limit = Limits().cpu
    beyond = [n for n, r in enumerate(runs) if not r.control and r.counters.executor_cpu_ns > limit.limit * BASE_NS]
    for n in (*beyond[2:30], *beyond[30::10]):
        since = runs[max(0, n - 400) : n + 1]  # what was before only lowers the evidence
        proven = ProvenLevels(TRIALS, [r for r in since if r.control], None)
        if slower_than_trials(proven, [r for r in since if not r.control], Limits()):
            return n + 1
    return None


def _whole(number: float) -> str:
    return "never" if math.isinf(number) else f"{number:,.0f}"
