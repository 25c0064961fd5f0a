"""A simulated year of nights: how often a policy without a gain gets in force, and how soon one with a gain does."""

from __future__ import annotations

import argparse
import json
import random
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.aa_sample import load
from benchmarks.year_life import Life
from benchmarks.year_loop import WholeLoop
from benchmarks.year_noise import Noise, noises
from benchmarks.year_trial import Truth
from planopt_assets.model.promotion import in_force
from planopt_assets.model.workload import Objective
from planopt_assets.validate.judge import JUDGE_VERSION

NIGHTS = 365
WEEK = 7
QUERIES = 200
A_NIGHT = 0.001  # false accepts of a query-night, at most
SAMPLE = Path(__file__).parents[1] / "planopt_tests" / "benchmarks" / "aa_sample.json"


NO_GAIN = Truth()


@dataclass(frozen=True, slots=True)
class Kind:
    """Queries whose candidates are all alike: what these really are, and what is aimed at."""

    name: str
    truth: Truth
    objective: Objective = "cpu"
    candidates: int = 8  # half the work by their counters, whatever the clocks say
    options: int = 0  # that are explored beyond them
    additions: int = 0  # of each round from an accepted policy; then only these are counted below
    addition: Truth = NO_GAIN  # what they really are, beside the policy they are added to
    at_most: float = 1.0  # share of queries that ever have one in force
    within_a_week: float = 0.0  # share of queries that have one in force by then, at least
    a_night: float = 1.0  # accepts of a query-night, at most
    gains: int | None = None  # candidates with a gain, in the whole loop; then only false accepts are counted

    def life(self, noise: Noise, draw: random.Random) -> Life:
        asked = self.truth, self.objective, self.candidates, noise, draw, self.options, self.additions, self.addition
        return Life(*asked) if self.gains is None else WholeLoop(*asked, gains=self.gains)


KINDS = (
    Kind("no gain", NO_GAIN, at_most=0.05),
    Kind("no gain, explored", NO_GAIN, candidates=2, options=16, at_most=0.05, a_night=A_NIGHT),
    Kind("no gain, rounds", Truth(0.70, 0.70), candidates=1, additions=8, at_most=0.05, a_night=A_NIGHT),
    # Two kinds, not a mix: a confirmation finds a false accept that stands alone, and none that stands beside a gain.
    Kind("no gain, whole loop", NO_GAIN, "cpu", 6, 16, 2, at_most=0.05, a_night=A_NIGHT, gains=0),
    Kind("one gain, whole loop", Truth(0.70, 0.70), "cpu", 6, 16, 2, at_most=0.05, a_night=A_NIGHT, gains=1),
    Kind("3 % worse", Truth(1.03, 1.03), at_most=0.01),
    Kind("20 % worse", Truth(1.20, 1.20), at_most=0.01),
    Kind("CPU -25 %, wall +10 %", Truth(0.75, 1.10), candidates=1, at_most=0.05),
    Kind("bytes -50 %, CPU +10 %", Truth(1.10, 1.0, bytes=0.5), "bytes", candidates=1, at_most=0.05),
    Kind("wall -40 %, CPU x2", Truth(2.0, 0.6), "latency", candidates=1, at_most=0.01),
    Kind("15 % gain", Truth(0.85, 0.85), candidates=1, within_a_week=0.95),
    Kind("30 % gain", Truth(0.70, 0.70), candidates=1, within_a_week=0.95),
)


@dataclass(frozen=True, slots=True)
class Year:
    """What a year came to for queries of one kind under one noise."""

    kind: str
    noise: str
    queries: int
    ever: float  # share of queries that had one in force at any time
    at_the_end: float
    within_a_week: float
    executions: float  # of all trials, per query
    to_accept: float | None  # executions up to the first accept, where there was one
    nights: int  # of all queries together
    accepts: int
    accepts_a_night: float  # of a query
    accepts_at_most: float  # the same, with 95 % confidence
    confirming: float | None  # executions of confirmations in all, of a query with an accept
    met: bool  # what is aimed at


def simulated(kind: Kind, name: str, noise: Noise, *, queries: int, nights: int = NIGHTS, seed: int = 7) -> Year:
    draws = (random.Random(f"{seed}/{kind.name}/{name}/{n}") for n in range(queries))
    lives = [kind.life(noise, draw).live(nights) for draw in draws]
    since = [life.in_force_since for life in lives if life.in_force_since is not None]
    accepted = [life for life in lives if life.accepts]
    ever, soon = len(since) / queries, sum(night < WEEK for night in since) / queries
    accepts = sum(life.accepts for life in lives)
    return Year(
        kind.name,
        name,
        queries,
        ever,
        sum(life.counts(in_force(life.chain)) for life in lives) / queries,
        soon,
        statistics.fmean(life.executions for life in lives),
        statistics.fmean(life.executions_to_accept for life in accepted) if accepted else None,
        queries * nights,
        accepts,
        accepts / (queries * nights),
        at_most(accepts, queries * nights),
        statistics.fmean(life.confirming for life in accepted) if accepted else None,
        ever <= kind.at_most and soon >= kind.within_a_week and accepts / (queries * nights) <= kind.a_night,
    )


def at_most(found: int, nights: int) -> float:
    """The upper end of a one-sided 95 % interval of a rate (Poisson).

    >>> [round(1000 * at_most(found, 6000), 2) for found in (0, 3, 6)]
    [0.5, 1.29, 1.97]
    """
    from scipy.special import gammaincinv

    return float(gammaincinv(found + 1, 0.95)) / nights


def main(arguments: Sequence[str]) -> int:
    """Exit code 1 where an aim is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks year", description=__doc__)
    parser.add_argument("--queries", type=int, default=QUERIES, help="simulated queries of each kind and noise")
    parser.add_argument("--nights", type=int, default=NIGHTS)
    parser.add_argument("--noise", action="append", help="only this one; may be given again")
    parser.add_argument("--kind", action="append", help="only this one; may be given again")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    asked = [
        (kind, name, noise)
        for kind in KINDS
        if kind.name in (options.kind or [kind.name])
        for name, noise in noises(load(SAMPLE)).items()
        if name in (options.noise or [name])
    ]
    if not options.json:
        print(
            "| candidates | noise | ever in force | at the end | within a week "
            "| executions | to accept | confirming | accepts in 1,000 query-nights (95 %: at most) |"
        )
        print("|---|---|---|---|---|---|---|---|---|")
    years = []
    for kind, name, noise in asked:
        years.append(simulated(kind, name, noise, queries=options.queries, nights=options.nights, seed=options.seed))
        if not options.json:
            print(_line(years[-1]), flush=True)
    for line in [] if options.json else _together(years):
        print(line)
    if options.json:
        print(json.dumps({"judge": JUDGE_VERSION, "seed": options.seed, "year": [asdict(y) for y in years]}, indent=2))
    return 0 if all(y.met for y in years) else 1


def _together(years: Sequence[Year]) -> list[str]:
    """Of the kinds that have a limit per query-night: all noises in one number."""
    lines = []
    for kind in (k for k in KINDS if k.a_night < 1):
        found, nights = (sum(getattr(y, name) for y in years if y.kind == kind.name) for name in ("accepts", "nights"))
        if nights:
            rates = f"{1000 * found / nights:.2f} in 1,000 (95 %: at most {1000 * at_most(found, nights):.2f})"
            lines.append(f"{kind.name}, {JUDGE_VERSION}: {found} false accepts in {nights:,} query-nights, {rates}")
    return ["", *lines] if lines else []


def _line(year: Year) -> str:
    shares = [f"{share:.1%}" for share in (year.ever, year.at_the_end, year.within_a_week)]
    costs = ["" if cost is None else f"{cost:.1f}" for cost in (year.executions, year.to_accept, year.confirming)]
    accepts = f"{1000 * year.accepts_a_night:.2f} ({1000 * year.accepts_at_most:.2f})"
    cells = [shares[0] + ("" if year.met else " missed"), *shares[1:], *costs, accepts]
    return f"| {year.kind} | {year.noise} | {' | '.join(cells)} |"
