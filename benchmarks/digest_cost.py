"""CPU of the digest of results: each query into a `noop` sink, bare and with the digest, in interleaved rounds.

    make bench ARGS="digest --queries q18 q19 --against OTHER/planopt_assets/engine/results/digest.py"

`--against` measures the digest of another version in the same rounds. Beside TPC-H there are two wide results, where a
row costs little and its hash most: all columns of `lineitem`, and of `lineitem` joined with `orders`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from benchmarks.tpc.workload import workload
from planopt_assets.engine.results.digest import with_digest
from planopt_assets.engine.workspace import Workspace
from planopt_assets.model.workload import Query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Side = Callable[["DataFrame"], "DataFrame"]
WARM_UP = 1
WIDE = (
    Query("wide_scan", sql="SELECT * FROM lineitem"),
    Query("wide_join", sql="SELECT * FROM lineitem JOIN orders ON l_orderkey = o_orderkey"),
)


def digest_cost(
    workspace: Workspace, queries: Sequence[Query], sides: dict[str, Side], rounds: int
) -> list[dict[str, Any]]:
    """Per query the median CPU seconds of the JVM for each side."""
    jvm = psutil.Process(workspace.spark._jvm.java.lang.ProcessHandle.current().pid())
    rows = []
    for query in queries:
        seconds = [_round(workspace, jvm, query, sides, number) for number in range(WARM_UP + rounds)][WARM_UP:]
        rows.append({"query": query.id, **{side: statistics.median(s[side] for s in seconds) for side in sides}})
    return rows


def _round(
    workspace: Workspace, jvm: psutil.Process, query: Query, sides: dict[str, Side], number: int
) -> dict[str, float]:
    order = list(sides)
    random.Random(f"{query.id}/{number}").shuffle(order)
    spent = {}
    for name in order:
        frame = sides[name](workspace.frame(query, 0, workspace.baseline))
        before = jvm.cpu_times()
        frame.write.format("noop").mode("overwrite").save()
        after = jvm.cpu_times()
        spent[name] = after.user + after.system - before.user - before.system
    return spent


def _digest_of(file: Path) -> Side:
    spec = importlib.util.spec_from_file_location("other_digest", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    other: Side = module.with_digest
    return other


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make bench ARGS=digest", description="CPU of the digest of results.")
    parser.add_argument("--queries", nargs="+", help="only these; the wide ones are called wide_scan and wide_join")
    parser.add_argument("--against", type=Path, help="digest.py of another version")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds per query")
    parser.add_argument("--scale", type=float, default=0.1, help="TPC-H scale factor")
    parser.add_argument("--folder", type=Path, default=Path(".planopt/bench"), help="where the data goes")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    asked = workload(options.folder, "tpch", options.scale)
    known = [*asked.queries, *WIDE]
    queries = [q for q in known if options.queries is None or q.id in options.queries]
    sides: dict[str, Side] = {"bare": lambda frame: frame, "digest": with_digest}
    if options.against:
        sides["against"] = _digest_of(options.against)
    rows = digest_cost(Workspace(asked), queries, sides, options.rounds)
    total = {side: sum(row[side] for row in rows) for side in sides}
    if options.json:
        print(json.dumps({"digest_cost": rows, "total": total}, indent=2))
        return 0
    for row in [*rows, {"query": "sum", **total}]:
        print(f"{row['query']:<12}" + "".join(f"{side:>10} {row[side]:>7.2f} s" for side in sides), flush=True)
    return 0
