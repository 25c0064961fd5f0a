"""Replays the trials of a store: would the choice of exploration have found what helps sooner than the list in order?

Queries come in the order of their first verdict. For each, both ways order the changes that were tried on it: by what
gained most so far on similar plans, as exploration does, knowing only the queries before it; and by the declared list.
After every trial the best change so far counts. Nothing runs, and nothing but stored rows is asked.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planopt_assets.decide.explore.choice import Experience, prospects
from planopt_assets.decide.explore.options import OPTIONS
from planopt_assets.loop.experiences import experiences, newest_verdict
from planopt_assets.model.policy import Policy
from planopt_assets.store.snapshot import Snapshot

SHOWN = 5  # trials of a query

Order = Callable[[Sequence[Experience], Sequence[Experience]], list[Policy]]
"""The changes of a query in the order they would be tried, knowing the queries before it."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What an order would have reached: of the best gain of every query, the share after one trial, two, and so on."""

    reached: tuple[float, ...]
    trials_to_best: float


def by_gain(own: Sequence[Experience], before: Sequence[Experience], seed: int = 0) -> list[Policy]:
    """As exploration chooses."""
    offered = {e.change.describe(): e.change for e in own}
    alike = dict.fromkeys(offered, 0.1)  # what each touches is not stored with its verdict
    found = prospects(offered, own[0].features, before, touched=alike, seed=seed, query_id=own[0].query_id)
    return [p.policy for p in found]


def by_list(own: Sequence[Experience], before: Sequence[Experience]) -> list[Policy]:
    """As the options are declared: by the knobs that a change sets; what no option sets comes last, by its name."""
    place = {tuple(sorted(n for n, _ in o.settings)): number for number, o in reversed(list(enumerate(OPTIONS)))}

    def of(change: Policy) -> tuple[int, str]:
        return place.get(tuple(n for n, _ in change.settings), len(OPTIONS)), change.describe()

    return sorted((e.change for e in own), key=of)


def replay(told: Sequence[Experience], order: Order) -> Replay:
    """Queries on which one change or none was tried, or none helped, tell nothing."""
    queries = list(dict.fromkeys(e.query_id for e in told))
    shares, places = [], []
    for number, query in enumerate(queries):
        own = [e for e in told if e.query_id == query]
        best = max(e.saved for e in own)
        if len(own) < 2 or best <= 0:
            continue
        known = {e.change: e.saved for e in own}
        before = [e for e in told if e.query_id in queries[:number]]
        gains = [known[change] for change in order(own, before)]
        shares.append([max(gains[: n + 1]) / best for n in range(SHOWN)])
        places.append(1 + gains.index(best))
    if not shares:
        return Replay((), 0.0)
    return Replay(tuple(sum(s[n] for s in shares) / len(shares) for n in range(SHOWN)), sum(places) / len(places))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make bench ARGS=explore", description="Replays the trials of a store.")
    parser.add_argument("store", help="folder of a store")
    parser.add_argument("workload", help="name of the workload")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    snapshot = Snapshot(options.store, options.workload, only_read=True)
    told = experiences(snapshot, newest_verdict(snapshot))
    found = {"most gained so far": replay(told, by_gain), "in the order of the list": replay(told, by_list)}
    queries = len({e.query_id for e in told})
    if options.json:
        facts = {name: {"reached": one.reached, "trials_to_best": one.trials_to_best} for name, one in found.items()}
        print(json.dumps({"queries": queries, "trials": len(told), **facts}, indent=2))
        return 0
    print(f"{len(told)} changes tried on {queries} queries; share of the best gain reached after so many trials")
    print(f"{'choice':<26}" + "".join(f"{n + 1:>7}" for n in range(SHOWN)) + f"{'to the best':>13}")
    for name, one in found.items():
        print(f"{name:<26}" + "".join(f"{share:>7.0%}" for share in one.reached) + f"{one.trials_to_best:>13.1f}")
    return 0
