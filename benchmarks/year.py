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
from benchmarks.year_noise import Noise, noises
from benchmarks.year_trial import Truth
from planopt_assets.model.promotion import in_force
from planopt_assets.model.workload import Objective

NIGHTS = 365
WEEK = 7
QUERIES = 200
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


KINDS = (
    Kind("no gain", NO_GAIN, at_most=0.05),
    Kind("no gain, explored", NO_GAIN, candidates=2, options=16, at_most=0.05),
    Kind("no gain, rounds", Truth(0.70, 0.70), candidates=1, additions=8, at_most=0.05),
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
    accepts_a_night: float  # of a query
    confirming: float | None  # executions of confirmations in all, of a query with an accept
    met: bool  # what is aimed at


def simulated(kind: Kind, name: str, noise: Noise, *, queries: int, nights: int = NIGHTS, seed: int = 7) -> Year:
    lives = [
        Life(
            *(kind.truth, kind.objective, kind.candidates, noise),
            random.Random(f"{seed}/{kind.name}/{name}/{n}"),
            options=kind.options,
            additions=kind.additions,
            addition=kind.addition,
        ).live(nights)
        for n in range(queries)
    ]
    since = [life.in_force_since for life in lives if life.in_force_since is not None]
    accepted = [life for life in lives if life.accepts]
    ever, soon = len(since) / queries, sum(night < WEEK for night in since) / queries
    return Year(
        kind.name,
        name,
        queries,
        ever,
        sum(life.counts(in_force(life.chain)) for life in lives) / queries,
        soon,
        statistics.fmean(life.executions for life in lives),
        statistics.fmean(life.executions_to_accept for life in accepted) if accepted else None,
        sum(life.accepts for life in lives) / (queries * nights),
        statistics.fmean(life.confirming for life in accepted) if accepted else None,
        ever <= kind.at_most and soon >= kind.within_a_week,
    )


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
            "| executions | to accept | confirming | accepts in 1,000 query-nights |"
        )
        print("|---|---|---|---|---|---|---|---|---|")
    years = []
    for kind, name, noise in asked:
        years.append(simulated(kind, name, noise, queries=options.queries, nights=options.nights, seed=options.seed))
        if not options.json:
            print(_line(years[-1]), flush=True)
    if options.json:
        print(json.dumps({"seed": options.seed, "year": [asdict(y) for y in years]}, indent=2))
    return 0 if all(y.met for y in years) else 1


def _line(year: Year) -> str:
    shares = [f"{share:.1%}" for share in (year.ever, year.at_the_end, year.within_a_week)]
    costs = ["" if cost is None else f"{cost:.1f}" for cost in (year.executions, year.to_accept, year.confirming)]
    missed = "" if year.met else " missed"
    cells = [shares[0] + missed, *shares[1:], *costs, f"{1000 * year.accepts_a_night:.2f}"]
    return f"| {year.kind} | {year.noise} | {' | '.join(cells)} |"
