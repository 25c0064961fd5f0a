"""`python -m benchmarks.tpc`: captures all TPC-H and TPC-DS queries; exit code 1 when one of them fails."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from benchmarks.tpc.adaptations import reasons
from benchmarks.tpc.capture_all import Captured, capture_all
from benchmarks.tpc.data import TINY
from benchmarks.tpc.oracle import results_check
from benchmarks.tpc.texts import SUITES, texts
from benchmarks.tpc.workload import workload
from planopt_assets.engine.workspace import Workspace

if TYPE_CHECKING:
    from planopt_assets.model.workload import Workload


def main(arguments: Sequence[str] | None = None, open_workspace: Callable[[Workload], Workspace] = Workspace) -> int:
    options = _options(arguments)
    failed = []
    for suite in SUITES:
        whole = workload(options.folder, suite, options.scale)
        asked = tuple(query for query in whole.queries if query.id in options.queries)
        workspace = open_workspace(replace(whole, queries=asked))
        check = results_check(whole, suite) if options.check_results else None
        for row in capture_all(workspace, plan_only=options.plan_only, check=check):
            print(orjson.dumps(asdict(row)).decode() if options.json else _line(row), flush=True)
            failed += [row.query] if row.problems else []
    if not options.json:
        print(f"{len(options.queries)} queries, {len(failed)} failed", *failed)
    return 1 if failed else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    every = [query for suite in SUITES for query in texts(suite)]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tpc", description=__doc__)
    parser.add_argument("queries", nargs="*", metavar="query", help="only these, such as tpch_q21; tpcds for a suite")
    parser.add_argument("--plan-only", action="store_true", help="run nothing but Delta's own log reads")
    parser.add_argument("--check-results", action="store_true", help="compare every result with DuckDB's")
    parser.add_argument("--scale", type=float, default=TINY, help="scale factor of the data")
    parser.add_argument("--folder", type=Path, default=Path(".planopt/bench"), help="where the data goes")
    parser.add_argument("--json", action="store_true", help="print one JSON object per query")
    options = parser.parse_args(arguments)
    if unknown := [word for word in options.queries if word not in (*SUITES, *every)]:
        parser.error(f"no such query: {', '.join(unknown)}")
    words = options.queries or SUITES
    options.queries = [query for query in every if query in words or query.partition("_")[0] in words]
    return options


def _line(row: Captured) -> str:
    nodes = " → ".join(map(str, row.nodes))
    outcome = "FAILED" if row.problems else "ok"
    notes = "; ".join([*row.problems, *(f"adapted: {reason}" for reason in reasons(row.query))])
    return f"{row.query:<12}{nodes:>12} nodes{row.seconds:>7.1f} s  {outcome:<8}{notes}".rstrip()


if __name__ == "__main__":
    sys.exit(main())
