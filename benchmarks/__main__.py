"""`make bench`: what planopt costs and what it can read, as tables of ratios measured in one run.

overhead   every capture tier against the bare execution of the 22 TPC-H queries
tpc        captures all TPC-H and TPC-DS queries (`make bench ARGS="tpc --help"`)
digest     CPU of the digest of results against the bare execution (`digest --help`)
gains      runs the loop on the demo or on TPC-H: executions per accepted policy, and what is gained (`gains --help`)
store      commands that read a store as it grows: time, CPU and memory, without Spark (`store --help`)
sensors    one tick of each sensor on a store of a thousand queries, without Spark (`sensors --help`)
ids        compares the content ids of two stores of one workload (`ids --help`)
layouts    layouts end to end on tables made for it: found, proposed, proven, applied (`layouts --help`)
arms       planopt against what people would do instead, on TPC-H or TPC-DS, interleaved in one session (`arms --help`)
explore    replays the trials of a store: the choice of exploration against the list in order, without Spark
model      error of the cost model per query, before and after its fit, from stores (`model STORE...`), without Spark
watch      simulates watch over a year: false reverts, and how soon a slower policy is found, without Spark
conditions what it costs `tuned` to ask whether the evidence of a policy holds for the tables, without Spark
aa         judges queries against themselves: nothing may be accepted (`make bench ARGS="aa --help"`)
year       simulates a year of nights: how often a policy without a gain gets in force (`year --help`)
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.aa import main as aa
from benchmarks.arms import main as arms
from benchmarks.capture_overhead import capture_overhead, summary
from benchmarks.condition_checks import main as conditions
from benchmarks.digest_cost import main as digest
from benchmarks.explore_replay import main as explore
from benchmarks.gains import main as gains
from benchmarks.layout_cases import main as layouts
from benchmarks.model_error import main as model
from benchmarks.same_ids import main as ids
from benchmarks.sensor_ticks import main as sensors
from benchmarks.store_scale.__main__ import main as store
from benchmarks.tpc.__main__ import main as tpc
from benchmarks.tpc.workload import workload
from benchmarks.watch import main as watch
from benchmarks.year import main as year
from planopt_assets.engine.workspace import Workspace


def main(arguments: Sequence[str]) -> int:
    name, *rest = arguments or ["overhead"]
    named = {
        "overhead": overhead,
        "tpc": tpc,
        "digest": digest,
        "gains": gains,
        "store": store,
        "sensors": sensors,
        "ids": ids,
        "layouts": layouts,
        "arms": arms,
        "explore": explore,
        "model": model,
        "watch": watch,
        "conditions": conditions,
        "aa": aa,
        "year": year,
    }
    if name in named:
        return named[name](rest)
    print(__doc__, file=sys.stderr)
    return 0 if name in ("-h", "--help") else 2


def overhead(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make bench", description="Capture tiers against the bare execution.")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds per query")
    parser.add_argument("--scale", type=float, default=0.1, help="TPC-H scale factor")
    parser.add_argument("--folder", type=Path, default=Path(".planopt/bench"), help="where the data goes")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    rows = capture_overhead(Workspace(workload(options.folder, "tpch", options.scale)), options.rounds)
    if options.json:
        print(json.dumps({"capture_overhead": rows, "summary": summary(rows)}, indent=2))
        return 0
    print("capture over bare execution, wall clock: median of interleaved rounds, with quartiles")
    print(f"{'query':<12}{'tier':<14}{'bare s':>8}{'ratio':>8}{'low':>8}{'high':>8}")
    for r in rows:
        print(f"{r['query']:<12}{r['tier']:<14}{r['bare_s']:>8.2f}{r['ratio']:>8.3f}{r['low']:>8.3f}{r['high']:>8.3f}")
    for r in summary(rows):
        print(f"{r['tier']}: median {r['median']:.3f}, worst {r['worst']:.3f} of {r['queries']} queries")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
