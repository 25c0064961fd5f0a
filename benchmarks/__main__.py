"""`make bench`: every benchmark, each as a table of ratios; `--json` for one object."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.capture_overhead import capture_overhead
from planopt_assets.demo import prepare
from planopt_assets.workload import load_workload


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds per query")
    parser.add_argument("--scale", type=float, default=0.1, help="TPC-H scale factor")
    parser.add_argument("--folder", type=Path, default=Path(".planopt/bench"), help="where the data goes")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    workload = load_workload(prepare(options.folder, options.scale, print if not options.json else lambda words: None))
    rows = capture_overhead(workload, options.rounds)
    if options.json:
        print(json.dumps({"capture_overhead": rows}, indent=2))
        return
    print("capture overhead: observed over bare execution, wall clock")
    print(f"{'query':<28}{'bare s':>8}{'ratio':>8}{'low':>8}{'high':>8}")
    for row in rows:
        print(f"{row['query']:<28}{row['bare_s']:>8.2f}{row['ratio']:>8.3f}{row['low']:>8.3f}{row['high']:>8.3f}")


if __name__ == "__main__":
    main()
