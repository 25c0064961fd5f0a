"""How far the cost model is off: modelled against measured CPU of each query in a store, as a factor. No Spark.

  given      the prices that planopt comes with
  stored     the newest fitted prices of the store for this number of cores and these versions, which decisions go by;
             fitted to these very executions, among others
  left out   prices fitted to all other queries: what a query costs that the fit has never seen

A fit that is judged on what it was fitted to proves little, so the last column is the honest one. Decide itself takes
the measured CPU of a query as its total wherever that is known, and shares it out by these prices.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from planopt_assets.decide.price_fit import fitted
from planopt_assets.delta.place import data_files, place
from planopt_assets.model.cost_model import GIVEN, Prices, Work
from planopt_assets.store.opened import opened
from planopt_assets.store.prices import environments, measured_work, stored_prices
from planopt_assets.store.schemas import TABLES
from planopt_assets.store.snapshot import Snapshot

NEAR = 1.5  # modelled and measured CPU differ by this factor at most
_KINDS = ("given", "stored", "left_out")


@dataclass(frozen=True, slots=True)
class Line:
    """One query: medians over its executions. Modelled over measured: 2 is twice as much as it takes, 0.5 half."""

    query: str
    executions: int
    measured_s: float
    given: float
    stored: float | None  # None: the store has no fitted prices yet
    left_out: float | None  # None: the other queries are too few for a fit


def lines(work: Sequence[Work], stored: Prices | None) -> list[Line]:
    """One for each query, by its name."""
    found = []
    for query in sorted({w.query_id for w in work}):
        own = [w for w in work if w.query_id == query]
        others = fitted([w for w in work if w.query_id != query])
        found.append(
            Line(
                query,
                len(own),
                median(w.cpu_ns for w in own) / 1e9,
                ratio(own, GIVEN),
                None if stored is None else ratio(own, stored),
                None if others is None else ratio(own, others),
            )
        )
    return found


def ratio(work: Sequence[Work], prices: Prices) -> float:
    """Modelled over measured CPU: the median over the executions of a query.

    >>> from planopt_assets.model.work_units import Units
    >>> ratio([Work("q", 400_000_000, Units(rows=5_000_000))], GIVEN)
    0.5
    """
    return median((prices.query_ns + prices.of(w.units)) / w.cpu_ns for w in work)


def summary(found: Sequence[Line]) -> dict[str, dict[str, float] | None]:
    """For each kind of prices: the median factor, whichever way, the largest one, and the share of near queries."""
    return {kind: _errors([r for line in found if (r := getattr(line, kind)) is not None]) for kind in _KINDS}


def _errors(ratios: Sequence[float]) -> dict[str, float] | None:
    if not ratios:
        return None
    factors = [math.exp(abs(math.log(r))) for r in ratios]
    return {
        "median_factor": median(factors),
        "largest_factor": max(factors),
        "share_near": sum(f <= NEAR for f in factors) / len(factors),
        "queries": len(factors),
    }


def workloads(store: str) -> list[str]:
    """The names of all workloads with executions in a store."""
    import pyarrow.compute as pc

    table = opened(store, "runtime_counters")
    if table is None:
        return []
    rows = place(f"{store}/runtime_counters").dataset(data_files(table), TABLES["runtime_counters"])
    return sorted(pc.unique(rows.to_table(columns=["workload"])["workload"]).to_pylist())


def main(arguments: Sequence[str]) -> int:
    """Exit code 2 where a store holds no execution."""
    parser = argparse.ArgumentParser(prog="make bench ARGS=model", description=__doc__.partition("\n")[0])
    parser.add_argument("stores", nargs="+", metavar="STORE", help="folder of a store that a loop has written")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    named = {store: workloads(store) for store in options.stores}
    if empty := [store for store, names in named.items() if not names]:
        parser.error(f"no executions in {', '.join(empty)}: name the folder of a store that a loop has written")
    found = [one for store, names in named.items() for name in names for one in told(store, name)]
    if not found:
        parser.error("no execution tells its cores and its engine: those of a planopt before schema version 7 do not")
    print(json.dumps(found, indent=2) if options.json else "\n\n".join(map(text, found)))
    return 0


def told(store: str, workload: str) -> list[dict[str, Any]]:
    """All that is known of one workload in a store, in each environment that it ran in."""
    snapshot = Snapshot(store, workload, only_read=True)
    stored = stored_prices(snapshot)
    found = []
    for environment in environments(snapshot):
        newest = next((p for p in reversed(stored) if p.environment == environment), None)
        per_query = lines(measured_work(snapshot, environment), newest)
        found.append(
            {
                "store": store,
                "workload": workload,
                **asdict(environment),
                "prices": newest.id if newest else None,
                "queries": [asdict(line) for line in per_query],
                "summary": summary(per_query),
            }
        )
    return found


def text(found: dict[str, Any]) -> str:
    rows = [
        f"{found['workload']} in {found['store']}, {found['cores']} cores, {found['engine']}",
        f"modelled over measured CPU, prices {found['prices'] or 'as given'}",
        f"{'query':<26}{'executions':>10}{'measured s':>12}{'given':>9}{'stored':>9}{'left out':>10}",
    ]
    for line in found["queries"]:
        given, stored, left_out = ("-" if line[kind] is None else f"{line[kind]:.2f}" for kind in _KINDS)
        rows.append(
            f"{line['query']:<26}{line['executions']:>10}{line['measured_s']:>12.2f}{given:>9}{stored:>9}{left_out:>10}"
        )
    return "\n".join([*rows, *(_words(kind, errors) for kind, errors in found["summary"].items())])


def _words(kind: str, errors: dict[str, float] | None) -> str:
    name = kind.replace("_", " ")
    if errors is None:
        return f"{name}: too few executions or queries for a fit"
    return (
        f"{name}: off by {errors['median_factor']:.2f} times in the median, {errors['largest_factor']:.1f} at most; "
        f"{errors['share_near']:.0%} of {errors['queries']} queries within {NEAR:g} times"
    )
