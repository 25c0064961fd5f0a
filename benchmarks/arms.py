"""planopt against what people would do instead: every arm over the same queries, interleaved, in one session.

  original           tables as appended, Spark's defaults
  partitions_8       one global setting: spark.sql.shuffle.partitions = 8
  global_tuning      that, with a 64 MB broadcast threshold and 64 MB splits
  auto_compaction    the same appends with Delta's auto compaction and optimized writes
  optimize           plain OPTIMIZE of every table
  optimize_8         that, with 8 shuffle partitions
  planopt_settings   planopt with policies alone
  planopt_layout     planopt with layouts and policies

Results are checked against original in every round. An execution that fails counts as a failure of its arm.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.arms_page import page, table
from benchmarks.arms_tables import Charge, charged, copied, loaded_with_remedies, optimized
from benchmarks.gains import RUNS_PER_DAY
from benchmarks.tpc.adaptations import adapted
from benchmarks.tpc.texts import texts
from planopt_assets.cli.demo_tables import prepare
from planopt_assets.engine.delta.pins import Pins
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import PlanoptError
from planopt_assets.loop.run import Run, read_standings
from planopt_assets.loop.stages.decide import decide_queries
from planopt_assets.loop.stages.maintain import maintain
from planopt_assets.loop.stages.observe import observe
from planopt_assets.loop.stages.promote import promote
from planopt_assets.loop.stages.readiness import readiness
from planopt_assets.loop.stages.replan import replan
from planopt_assets.loop.stages.validate import validate
from planopt_assets.model.arm import Arm
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.trial import Digest
from planopt_assets.model.workload import Budgets, Query, Table, Workload
from planopt_assets.store.codecs.maintaining import ACTIONS
from planopt_assets.validate.equality import compare
from planopt_assets.validate.round_order import round_order
from planopt_assets.workload.load import load_workload

_LOOP = (decide_queries, replan, validate, promote)
_TIMEOUT_S = 600.0
_EIGHT = {"spark.sql.shuffle.partitions": "8"}
_TUNED = {
    **_EIGHT,
    "spark.sql.autoBroadcastJoinThreshold": str(64 << 20),
    "spark.sql.files.maxPartitionBytes": str(64 << 20),
}


@dataclass
class Competitor:
    """One arm: the tables it reads, a policy for each query, and what making it took."""

    name: str
    tables: Mapping[str, Path]
    policies: Mapping[str, Policy] = field(default_factory=dict)  # by query; without one: original
    charge: Charge = field(default_factory=Charge)

    def arm(self, query: str) -> Arm:
        pins = Pins()
        read = tuple(pins.pin(name, str(path)) for name, path in sorted(self.tables.items()))
        return Arm(self.policies.get(query, ORIGINAL), read)


def competitors(workload: Workload, folder: Path, names: Sequence[str]) -> list[Competitor]:
    """Every arm that was asked for, made ready; the tables as appended are never written to."""
    base = {t.name: Path(str(t.path)) for t in workload.tables}
    every = [q.id for q in workload.queries]
    spark = Workspace(workload).spark
    found = {
        "original": Competitor("original", base),
        "partitions_8": Competitor("partitions_8", base, dict.fromkeys(every, Policy.of(_EIGHT))),
        "global_tuning": Competitor("global_tuning", base, dict.fromkeys(every, Policy.of(_TUNED))),
    }
    if "auto_compaction" in names:
        found["auto_compaction"] = Competitor(
            "auto_compaction", loaded_with_remedies(spark, base, folder / "auto_compaction")
        )
    if {"optimize", "optimize_8"} & set(names):
        whole = copied(base, folder / "optimize")
        charge = optimized(spark, whole)
        found["optimize"] = Competitor("optimize", whole, {}, charge)
        found["optimize_8"] = Competitor("optimize_8", whole, dict.fromkeys(every, Policy.of(_EIGHT)), charge)
    if "planopt_settings" in names:
        found["planopt_settings"] = _tuned("planopt_settings", replace(workload, store=str(folder / "settings-store")))
    if "planopt_layout" in names:
        own = copied(base, folder / "layout")
        tables = tuple(Table(n, str(p), maintain="auto") for n, p in sorted(own.items()))
        changed = replace(workload, store=str(folder / "layout-store"), tables=tables)
        found["planopt_layout"] = _tuned("planopt_layout", changed)
    return [found[name] for name in names]


def _tuned(name: str, workload: Workload) -> Competitor:
    """The whole loop, as `planopt run` goes through it; layouts first where the workload allows them."""
    shutil.rmtree(workload.store, ignore_errors=True)
    chosen = [q.id for q in workload.queries]
    with charged() as charge:
        if any(t.maintain == "auto" for t in workload.tables):
            _lay_out(workload, chosen)
        run = Run(Workspace(workload), str(uuid.uuid4()), progress=_say)
        for stage in (observe, *_LOOP):
            stage(run, chosen)
        run.workspace.close()
    charge.bytes_rewritten = sum(a.bytes_rewritten or 0 for a in run.store.newest().read(ACTIONS) if a.applied)
    standings = read_standings(workload, run.workspace.pins)
    policies = {q: s.active.policy for q, s in standings.items() if s.active}
    return Competitor(name, {t.name: Path(str(t.path)) for t in workload.tables}, policies, charge)


def _lay_out(workload: Workload, chosen: Sequence[str]) -> None:
    run = Run(Workspace(workload), str(uuid.uuid4()), progress=_say)
    tables = [t.name for t in workload.tables]
    observe(run, list(chosen))
    readiness(run, tables)
    maintain(run, tables)
    run.workspace.close()


@dataclass
class Clocks:
    """Of one arm and query, one value per counted round; or why it failed."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)


def measured(workload: Workload, arms: Sequence[Competitor], rounds: int) -> dict[str, dict[str, Clocks]]:
    """Arm -> query -> clocks; the first round warms up and tells what each query returns."""
    workspace = Workspace(workload)
    found = {arm.name: {q.id: Clocks() for q in workload.queries} for arm in arms}
    expected: dict[tuple[str, int], Digest] = {}
    for number in range(rounds + 1):
        for query in workload.queries:
            order = [a.name for a in arms]
            if number:
                order = round_order(order, workload.seed, f"arms {query.id}", number)
            for name in order:
                arm = next(a for a in arms if a.name == name)
                _execute(workspace, query, arm, found[name][query.id], expected, counted=number > 0)
        _say("arms", f"round {number} of {rounds}", "the first one warms up" if not number else "measured")
    workspace.close()
    return found


def _execute(
    workspace: Workspace,
    query: Query,
    competitor: Competitor,
    clocks: Clocks,
    expected: dict[tuple[str, int], Digest],
    *,
    counted: bool,
) -> None:
    cpu = wall = 0.0
    for binding in range(len(query.bindings)):
        try:
            done = workspace.execute(query, binding, competitor.arm(query.id), timeout_s=_TIMEOUT_S)
        except PlanoptError as error:
            clocks.failures.append(str(error))
            return
        assert done.digest is not None
        assert done.counters.cpu_ns is not None
        same, why = compare(expected.setdefault((query.id, binding), done.digest), done.digest)
        if same == "different":
            clocks.different.append(why)
        cpu, wall = cpu + done.counters.cpu_ns / 1e9, wall + done.counters.wall_ns / 1e9
    if counted:
        clocks.cpu.append(cpu)
        clocks.wall.append(wall)


ARMS = (
    *("original", "partitions_8", "global_tuning", "auto_compaction", "optimize", "optimize_8"),
    *("planopt_settings", "planopt_layout"),
)


def workload_of(options: argparse.Namespace) -> Workload:
    """The demo's queries, or the 22 of TPC-H over the same tables; nothing of theirs is written."""
    chosen = load_workload(prepare(options.folder / "data", options.scale, _note))
    if options.queries == "tpch":
        queries = (Query(q, sql=adapted(q, text), runs_per_day=RUNS_PER_DAY) for q, text in texts("tpch").items())
        chosen = replace(chosen, queries=tuple(queries))
    if options.only:
        chosen = replace(chosen, queries=tuple(q for q in chosen.queries if q.id in options.only))
    store = options.folder.resolve() / "store"
    budgets = Budgets(per_run=14_400)
    tables = tuple(replace(t, maintain="never") for t in chosen.tables)
    return replace(chosen, store=str(store), mode="auto", budgets=budgets, tables=tables)


def main(arguments: Sequence[str]) -> int:
    """Exit code 1 if a result differs, or an arm of planopt fails."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks arms", description=__doc__.partition("\n")[0])
    parser.add_argument("--queries", choices=("demo", "tpch"), default="tpch")
    parser.add_argument("--only", nargs="*", help="only these queries")
    parser.add_argument("--arms", nargs="*", choices=ARMS, default=list(ARMS), help="only these arms")
    parser.add_argument("--scale", type=float, default=0.1, help="TPC-H scale factor")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds that count")
    parser.add_argument("--folder", type=Path, default=Path(".planopt/arms"), help="where tables and stores go")
    parser.add_argument("--page", type=Path, help="write this page (docs/benchmark.md), and the raw numbers beside it")
    options = parser.parse_args(arguments)
    folder = options.folder.resolve()
    names = list(dict.fromkeys(["original", *options.arms]))
    workload = workload_of(options)
    arms = competitors(workload, folder, names)
    clocks = measured(workload, arms, options.rounds)
    raw = {
        "queries": options.queries,
        "scale": options.scale,
        "rounds": options.rounds,
        "charges": {a.name: asdict(a.charge) for a in arms},
        "policies": {a.name: {q: p.describe() for q, p in a.policies.items()} for a in arms},
        "clocks": {arm: {q: asdict(c) for q, c in by.items()} for arm, by in clocks.items()},
    }
    print(table(raw))
    if options.page:
        options.page.write_text(page(raw))
        options.page.with_suffix(".json").write_text(json.dumps(raw, indent=1) + "\n")
    return 1 if _broken(raw) else 0


def _broken(raw: dict[str, Any]) -> bool:
    failed = any(c["failures"] for arm, by in raw["clocks"].items() if arm.startswith("planopt") for c in by.values())
    return failed or any(c["different"] for by in raw["clocks"].values() for c in by.values())


def _say(stage: str, query: str, words: str) -> None:
    print(f"{stage}: {query}: {words}", file=sys.stderr, flush=True)


def _note(words: str) -> None:
    print(words, file=sys.stderr, flush=True)
