"""`make bench ARGS=store`: what the commands that read a store cost as it grows."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.store_scale.generate import SEED, generate
from benchmarks.store_scale.measure import COMMANDS, CommandFailed, Cost, measured, ratios

HERE, AGAINST = "here", "against"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks store", description=__doc__)
    parser.add_argument("--queries", type=int, nargs="+", default=[10, 100, 1000], help="sizes of stores to measure")
    parser.add_argument("--observations", type=int, default=10, help="nightly observations of each query")
    parser.add_argument("--rounds", type=int, default=3, help="fresh processes per command; medians are shown")
    parser.add_argument("--commands", nargs="+", choices=tuple(COMMANDS), default=list(COMMANDS), help="only these")
    parser.add_argument("--against", type=Path, help="another checkout of planopt, measured interleaved")
    parser.add_argument("--seed", type=int, default=SEED, help="of the generated store")
    parser.add_argument("--folder", type=Path, default=Path(".planopt/store_scale"), help="where the stores go")
    parser.add_argument("--reuse", action="store_true", help="measure the stores that are there, write none")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    trees = {HERE: Path(__file__).parents[2]} | ({AGAINST: options.against} if options.against else {})
    sizes = []
    for queries in options.queries:
        try:
            sizes.append(_size(options, queries, trees))
        except CommandFailed as error:
            print(error, file=sys.stderr)
            return 1
        if not options.json:
            print(_text(sizes[-1]), flush=True)
    if options.json:
        print(json.dumps({"sizes": [{**s, "costs": [asdict(c) for c in s["costs"]]} for s in sizes]}, indent=2))
    return 0


def _size(options: argparse.Namespace, queries: int, trees: dict[str, Path]) -> dict[str, Any]:
    folder = options.folder / f"{queries}x{options.observations}"
    start = time.perf_counter()
    if not options.reuse:
        generate(folder, queries, options.observations, options.seed)
    written_s = time.perf_counter() - start
    costs = measured(folder.resolve() / "planopt.yaml", trees, options.rounds, options.commands)
    store = sum(f.stat().st_size for f in (folder / ".planopt/store").rglob("*") if f.is_file())
    return {
        "queries": queries,
        "observations": options.observations,
        "store_mib": store / 2**20,
        "written_s": None if options.reuse else written_s,
        "costs": costs,
        "ratios": ratios(costs, HERE, AGAINST) if AGAINST in trees else [],
    }


def _text(size: dict[str, Any]) -> str:
    head = f"{size['queries']} queries, {size['observations']} observations each, {size['store_mib']:.1f} MiB"
    written = "" if size["written_s"] is None else f", written in {size['written_s']:.0f} s"
    lines = [head + written, f"{'command':<10}{'tree':<10}{'wall s':>10}{'CPU s':>10}{'peak MiB':>10}"]
    lines += [_line(cost) for cost in size["costs"]]
    lines += [
        f"{r['command']:<10}{'ratio':<10}{r['wall_s']:>10.2f}{r['cpu_s']:>10.2f}{r['peak_mib']:>10.2f}"
        for r in size["ratios"]
    ]
    return "\n".join([*lines, ""])


def _line(cost: Cost) -> str:
    return f"{cost.command:<10}{cost.tree:<10}{cost.wall_s:>10.2f}{cost.cpu_s:>10.2f}{cost.peak_mib:>10.0f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
