"""planopt against what people would do instead: every arm over the same queries, interleaved, in one session.

  original           tables as appended, Spark's defaults
  partitions_8       one global setting: spark.sql.shuffle.partitions = 8
  global_tuning      that, with a 64 MB broadcast threshold and 64 MB splits
  auto_compaction    the same appends with Delta's auto compaction and optimized writes
  optimize           plain OPTIMIZE of every table
  optimize_8         that, with 8 shuffle partitions
  planopt_settings   planopt with policies alone
  three_knobs        a simple tuner: three knobs per query, with as many executions as planopt_settings took
  planopt_layout     planopt with layouts and policies
  grid               only with `--grid`: all combinations of four knobs per query, as the reachable limit of settings

Results are checked against original in every round. An execution that fails counts as a failure of its arm. Arms and
queries that are done are kept in the folder: a call that was stopped goes on where it was (`--anew` starts over).
The queries are those of the demo, of TPC-H or of TPC-DS, over tables made of many small appends.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.arms_made import Competitor, competitors
from benchmarks.arms_names import ARMS, BY_DEFAULT
from benchmarks.arms_numbers import broken
from benchmarks.arms_page import page, table
from benchmarks.arms_tables import appended
from benchmarks.arms_workload import workload_of
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import PlanoptError
from planopt_assets.model.trial import Digest
from planopt_assets.model.workload import Query, Workload
from planopt_assets.validate.equality import compare
from planopt_assets.validate.round_order import round_order

_TIMEOUT_S = 600.0
_WARM_UPS = 2  # rounds of each query that do not count


@dataclass
class Clocks:
    """Of one arm and query, one value per counted round; or why it failed."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)


class Measurement:
    """All arms over one query after the other, in interleaved rounds; every query that is done is in the file.

    The rounds of a query follow each other, so that its generated code is compiled when they count, as it soon is in a
    query that runs for minutes. With all queries in between, the code of each arm is cold again, and coldest is the
    code that only one arm has.
    """

    def __init__(self, workload: Workload, arms: Sequence[Competitor], about: dict[str, Any], file: Path) -> None:
        self._workload, self._arms, self._file = workload, arms, file
        self._about = about | {
            "arms": [a.name for a in arms],
            "policies": {a.name: {q: p.describe() for q, p in a.policies.items()} for a in arms},
        }
        self._expected: dict[tuple[str, int], Digest] = {}
        self.raw: dict[str, Any] = self._begun()

    def _begun(self) -> dict[str, Any]:
        """What an earlier call has measured of exactly this; else nothing."""
        known = json.loads(self._file.read_text()) if self._file.exists() else {}
        if "done" in known and {k: known.get(k) for k in self._about} == self._about:
            return dict(known)
        clocks = {a.name: {q.id: asdict(Clocks()) for q in self._workload.queries} for a in self._arms}
        charges = {a.name: asdict(a.charge) for a in self._arms}
        return {**self._about, "rounds": 0, "done": {}, "sessions": 0, "charges": charges, "clocks": clocks}

    def run(self, rounds: int) -> None:
        """Until every query has so many rounds."""
        done: dict[str, int] = self.raw["done"]
        left = [query for query in self._workload.queries if done.get(query.id, 0) < rounds]
        if not left:
            return
        workspace = Workspace(self._workload)
        self.raw["sessions"] += 1
        self.raw["rounds"] = rounds
        for query in left:
            started = time.perf_counter()
            for warm_up in range(_WARM_UPS):
                self._round(workspace, query, -warm_up)
            for number in range(done.get(query.id, 0) + 1, rounds + 1):
                self._round(workspace, query, number)
            done[query.id] = rounds
            self._file.write_text(json.dumps(self.raw, indent=1) + "\n")
            say("arms", query.id, f"{time.perf_counter() - started:.0f} s")
        workspace.close()

    def _round(self, workspace: Workspace, query: Query, number: int) -> None:
        """Below 1 it warms up. The very first tells what the query returns, so there original goes first."""
        order = [a.name for a in self._arms]
        if number:
            order = round_order(order, self._workload.seed, f"arms {query.id}", number)
        for name in order:
            arm = next(a for a in self._arms if a.name == name)
            self._execute(workspace, query, arm, counted=number > 0)

    def _execute(self, workspace: Workspace, query: Query, arm: Competitor, *, counted: bool) -> None:
        clocks = self.raw["clocks"][arm.name][query.id]
        cpu = wall = 0.0
        for binding in range(len(query.bindings)):
            try:
                done = workspace.execute(query, binding, arm.arm(query.id), timeout_s=_TIMEOUT_S)
            except PlanoptError as error:
                clocks["failures"].append(str(error))
                return
            assert done.digest is not None
            assert done.counters.cpu_ns is not None
            same, why = compare(self._expected.setdefault((query.id, binding), done.digest), done.digest)
            if same == "different":
                clocks["different"].append(why)
            cpu, wall = cpu + done.counters.cpu_ns / 1e9, wall + done.counters.wall_ns / 1e9
        if counted:
            clocks["cpu"].append(cpu)
            clocks["wall"].append(wall)


def main(arguments: Sequence[str]) -> int:
    """Exit code 1 if an arm of planopt fails, or returns another result."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks arms", description=__doc__.partition("\n")[0])
    parser.add_argument("--queries", choices=("demo", "tpch", "tpcds"), default="tpch")
    parser.add_argument("--only", nargs="*", help="only these queries")
    parser.add_argument("--arms", nargs="*", choices=ARMS, default=list(BY_DEFAULT), help="only these arms")
    parser.add_argument("--grid", action="store_true", help="the arm `grid` too: about 110 executions of each query")
    parser.add_argument("--scale", type=float, default=0.1, help="scale factor of the data")
    parser.add_argument("--budget", type=int, default=14_400, help="seconds of trials for each loop of planopt")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds that count; 0: only make the arms")
    parser.add_argument("--folder", type=Path, default=Path(".planopt/arms"), help="where tables and stores go")
    parser.add_argument("--anew", action="store_true", help="make all arms again, and measure from the first round on")
    parser.add_argument("--page", type=Path, help="write this page (docs/benchmark.md), and the raw numbers beside it")
    parser.add_argument("--raw", type=Path, help="only print, and write the page, of these raw numbers: no Spark")
    options = parser.parse_args(arguments)
    raw = json.loads(options.raw.read_text()) if options.raw else _measured(options)
    if not raw["rounds"]:
        note("the arms are made; nothing was measured")
        return 0
    print(table(raw))
    if options.page:
        options.page.write_text(page(raw, options.page.stem))
        options.page.with_suffix(".json").write_text(json.dumps(raw, indent=1) + "\n")
    return 1 if broken(raw) else 0


def _measured(options: argparse.Namespace) -> dict[str, Any]:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was spent so far is kept
    options.folder = options.folder.resolve()
    folder = options.folder / "-".join([options.queries, f"{options.scale:g}", *sorted(options.only or ())])
    if options.anew:
        shutil.rmtree(folder, ignore_errors=True)
    names = list(dict.fromkeys(["original", *options.arms, *(["grid"] if options.grid else [])]))
    workload = workload_of(options.queries, options.scale, options.folder, options.only or (), options.budget, note)
    arms = competitors(workload, folder, names, say)
    about = {
        "queries": options.queries,
        "scale": options.scale,
        "only": sorted(options.only or ()),
        "budget": options.budget,
        "cores": os.cpu_count(),
        "memory": dict(workload.spark_settings).get("spark.driver.memory", "1g"),
    }
    measurement = Measurement(workload, arms, about, folder / "raw.json")
    measurement.raw["appends"] = sum(len(appended(Path(str(t.path)))) for t in workload.tables)
    measurement.run(options.rounds)
    return measurement.raw


def say(stage: str, query: str, words: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {stage}: {query}: {words}", file=sys.stderr, flush=True)


def note(words: str) -> None:
    print(words, file=sys.stderr, flush=True)
