"""Replays the trials of a store: would the choice of exploration have found what helps sooner than the list in order?

Queries come in the order of their first verdict. For each, both ways order the options that were tried on it: by what
gained most so far on similar plans, as exploration does, knowing only the queries before it; and by the declared list.
What an option touches comes from stored rows (`explore_touched.py`), and an option that promises less than
`LEAST_SHARE` is not tried. After every trial the best option so far counts. Nothing runs, and nothing but stored rows
is asked. What only a rule can propose is left out: exploration could not have chosen it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from benchmarks.explore_touched import Touched, stored_touched
from planopt_assets.decide.explore.choice import Experience, prospects
from planopt_assets.decide.explore.explore import LEAST_SHARE
from planopt_assets.decide.explore.options import OPTIONS
from planopt_assets.loop.experiences import experiences, newest_verdict
from planopt_assets.model.policy import Policy
from planopt_assets.store.snapshot import Snapshot

SHOWN = 5  # trials of a query

Order = Callable[[Sequence[Experience], Sequence[Experience]], list[Policy]]
"""The changes of a query in the order they would be tried, knowing the queries before it."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What an order would have reached: of the best gain of every query, the share after one trial, two, and so on.

    That is of the queries `told`: those with two options at least, one of which helped. `trials` are those of all
    queries, also where nothing helped: what is not tried costs nothing. `trials_to_best` is of the queries whose best
    option was tried, and `found` is their share.
    """

    reached: tuple[float, ...]
    trials_to_best: float
    found: float
    trials: int
    told: int = 0


def by_gain(touched: Touched, seed: int = 0) -> Order:
    """As exploration chooses. What promises too little is not tried."""

    def order(own: Sequence[Experience], before: Sequence[Experience]) -> list[Policy]:
        offered = {e.change.describe(): e.change for e in own}
        shares = {e.change.describe(): touched[e.query_id, e.change] for e in own}
        found = prospects(offered, own[0].features, before, touched=shares, seed=seed, query_id=own[0].query_id)
        return [p.policy for p in found if p.share >= LEAST_SHARE]

    return order


def by_list(own: Sequence[Experience], before: Sequence[Experience]) -> list[Policy]:
    """As the options are declared: by the knobs that a change sets; what no option sets comes last, by its name."""
    place = {tuple(sorted(n for n, _ in o.settings)): number for number, o in reversed(list(enumerate(OPTIONS)))}

    def of(change: Policy) -> tuple[int, str]:
        return place.get(tuple(n for n, _ in change.settings), len(OPTIONS)), change.describe()

    return sorted((e.change for e in own), key=of)


def replay(told: Sequence[Experience], order: Order) -> Replay:
    """Queries on which one option or none was tried, or none helped, tell only what trying costs."""
    queries = list(dict.fromkeys(e.query_id for e in told))
    shares, places, trials = [], [], 0
    for number, query in enumerate(queries):
        own = [e for e in told if e.query_id == query]
        known, best = {e.change: e.saved for e in own}, max(e.saved for e in own)
        gains = [known[change] for change in order(own, [e for e in told if e.query_id in queries[:number]])]
        trials += len(gains)
        if len(own) < 2 or best <= 0:
            continue
        shares.append([max(gains[: n + 1], default=0.0) / best for n in range(SHOWN)])
        places += [1 + gains.index(best)] if best in gains else []
    if not shares:
        return Replay((), 0.0, 0.0, trials)
    reached = tuple(sum(s[n] for s in shares) / len(shares) for n in range(SHOWN))
    return Replay(reached, sum(places) / len(places) if places else 0.0, len(places) / len(shares), trials, len(shares))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make bench ARGS=explore", description="Replays the trials of a store.")
    parser.add_argument("store", help="folder of a store")
    parser.add_argument("workload", help="name of the workload")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    snapshot = Snapshot(options.store, options.workload, only_read=True)
    touched = stored_touched(snapshot)
    tried = experiences(snapshot, newest_verdict(snapshot))
    told = [e for e in tried if (e.query_id, e.change) in touched]
    found = {"most gained so far": replay(told, by_gain(touched)), "in the order of the list": replay(told, by_list)}
    queries = len({e.query_id for e in told})
    if options.json:
        facts = {name: asdict(one) for name, one in found.items()}
        counts = {"queries": queries, "trials": len(told), "not_an_option": len(tried) - len(told)}
        print(json.dumps({**counts, **facts}, indent=2))
        return 0
    print(f"{len(told)} options tried on {queries} queries ({len(tried) - len(told)} other changes left out);")
    compared = found["in the order of the list"].told
    print(f"share of the best gain reached after so many trials, of the {compared} queries with a choice and a gain")
    print(
        f"{'choice':<26}"
        + "".join(f"{n + 1:>7}" for n in range(SHOWN))
        + f"{'to the best':>13}{'found':>7}{'trials':>8}"
    )
    for name, one in found.items():
        print(
            f"{name:<26}"
            + "".join(f"{share:>7.0%}" for share in one.reached)
            + f"{one.trials_to_best:>13.1f}{one.found:>7.0%}{one.trials:>8}"
        )
    return 0
