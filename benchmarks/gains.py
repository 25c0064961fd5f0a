"""What the loop spends and what it gains: executions for each accepted policy, then both sides measured once more.

The whole loop runs on the demo's queries or on the 22 of TPC-H, over the demo's tables, with a store of its own and in
one session. The gain is not taken from the trials that decided, since the luckiest of them win. Every query that got a
policy is run again under both, interleaved; the others cost the same under both and count in the totals. A query that
is surely worse then ends the run with exit code 1. Rules and prices were made with TPC-H at hand; TPC-DS is held out.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.tpc.adaptations import adapted
from benchmarks.tpc.texts import texts
from benchmarks.tpc.workload import workload as tpc_workload
from planopt_assets.cli.demo_tables import prepare
from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.run import Run, read_standings
from planopt_assets.loop.stages.decide import decide_queries
from planopt_assets.loop.stages.observe import observe
from planopt_assets.loop.stages.promote import promote
from planopt_assets.loop.stages.replan import replan
from planopt_assets.loop.stages.validate import validate
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.verdict import Gain
from planopt_assets.model.workload import Budgets, Query, Workload
from planopt_assets.store.codecs.deciding import TRIALS, VERDICTS
from planopt_assets.store.snapshot import Snapshot
from planopt_assets.validate.intervals import ratio_interval
from planopt_assets.validate.round_order import round_order
from planopt_assets.workload.load import load_workload

CONFIDENCE = 0.95
WORSE = 1.03  # an interval wholly beyond it is a regression that was kept
RUNS_PER_DAY = 24.0
_TIMEOUT_S = 600.0
Clocks = dict[str, list[tuple[float, float]]]  # metric -> seconds as it is and under the policy, per round


@dataclass(frozen=True, slots=True)
class Line:
    """One query: what was spent on it, what is in force, and what that gains when measured again."""

    query: str
    outcome: str
    policy: str
    executions: int  # of all its candidates, the query as it is, and comparisons row by row
    cpu: Gain | None
    wall: Gain | None
    reason: str


def measured(workload: Workload, rounds: int) -> dict[str, Any]:
    workspace = Workspace(workload)
    run = Run(workspace, str(uuid.uuid4()), progress=_say)
    chosen = [q.id for q in workload.queries]
    for stage in (observe, decide_queries, replan, validate, promote):
        stage(run, chosen)
    standings = read_standings(workload, workspace.pins)
    spent = executions(Snapshot(workload.store, workload.name))
    policies = {q: s.active.policy if s.active else ORIGINAL for q, s in standings.items()}
    clocks = {q.id: _again(workspace, q, policies[q.id], rounds) for q in workload.queries}
    lines = []
    for query in chosen:
        standing, gains = standings[query], {m: _gain(m, values) for m, values in clocks[query].items()}
        in_force = policies[query] != ORIGINAL
        lines.append(
            Line(
                query,
                standing.outcome,
                policies[query].describe(),
                spent.get(query, 0),
                gains["cpu"] if in_force else None,
                gains["wall"] if in_force else None,
                standing.reason,
            )
        )
    return {"queries": [asdict(line) for line in lines], "summary": summary(lines, clocks)}


def executions(snapshot: Snapshot) -> dict[str, int]:
    """Per query: every trial, and two for each comparison row by row; the observation is not one."""
    spent: Counter[str] = Counter()
    for trial in snapshot.read(TRIALS):
        spent[trial.query_id] += 1
    for verdict in snapshot.read(VERDICTS):
        spent[verdict.query_id] += verdict.executions - len(verdict.trial_ids)
    return dict(spent)


def summary(lines: Sequence[Line], clocks: dict[str, Clocks]) -> dict[str, Any]:
    """The totals of a round are those of all queries; the interval is over rounds."""
    accepted = [line for line in lines if line.cpu]
    totals = {
        metric: [
            tuple(map(sum, zip(*values, strict=True)))
            for values in zip(*(c[metric] for c in clocks.values()), strict=True)
        ]
        for metric in ("cpu", "wall")
    }
    return {
        "queries": len(lines),
        "accepted": len(accepted),
        "executions_per_accepted_policy": fmean(line.executions for line in accepted) if accepted else None,
        "executions_of_all_per_accepted": sum(line.executions for line in lines) / len(accepted) if accepted else None,
        "regressed": [line.query for line in accepted if any(g and g.low > WORSE for g in (line.cpu, line.wall))],
        "total": {m: asdict(_gain(m, values)) for m, values in totals.items()},
        "seconds": {m: tuple(map(fmean, zip(*values, strict=True))) for m, values in totals.items()},
    }


def _again(workspace: Workspace, query: Query, policy: Policy, rounds: int) -> Clocks:
    """Fresh interleaved rounds; a query without a policy runs once a round, and stands for both sides."""
    found: Clocks = {"cpu": [], "wall": []}
    arms = {ORIGINAL.id: ORIGINAL, policy.id: policy}
    for number in range(rounds):
        order = round_order(list(arms), workspace.workload.seed, f"again {query.id}", number)
        ran = {arm: _clocks(workspace, query, arms[arm]) for arm in order}
        for metric, values in found.items():
            values.append((ran[ORIGINAL.id][metric], ran[policy.id][metric]))
    _say("measured again", query.id, policy.describe())
    return found


def _clocks(workspace: Workspace, query: Query, policy: Policy) -> dict[str, float]:
    bindings = range(len(query.bindings))
    done = [workspace.execute(query, b, workspace.arm(policy), timeout_s=_TIMEOUT_S).counters for b in bindings]
    return {"cpu": sum(c.cpu_ns for c in done) / 1e9, "wall": sum(c.wall_ns for c in done) / 1e9}


def _gain(metric: str, values: Sequence[Any]) -> Gain:
    return ratio_interval(values, metric, CONFIDENCE)


def _say(stage: str, query: str, words: str) -> None:
    print(f"{stage}: {query}: {words}", file=sys.stderr, flush=True)


def _workload(options: argparse.Namespace) -> Workload:
    """The demo's own queries, those of TPC-H over the same tables, or those of TPC-DS; always a fresh store."""
    if options.queries == "tpcds":
        chosen = tpc_workload(options.folder, "tpcds", options.scale)
        chosen = replace(chosen, queries=tuple(replace(q, runs_per_day=RUNS_PER_DAY) for q in chosen.queries))
    else:
        chosen = load_workload(prepare(options.folder, options.scale, _note))
    if options.queries == "tpch":
        queries = (Query(q, sql=adapted(q, text), runs_per_day=RUNS_PER_DAY) for q, text in texts("tpch").items())
        chosen = replace(chosen, queries=tuple(queries))
    if options.only:
        chosen = replace(chosen, queries=tuple(q for q in chosen.queries if q.id in options.only))
    store = options.folder.resolve() / f"gains-{options.queries}"
    shutil.rmtree(store, ignore_errors=True)
    return replace(chosen, store=str(store), mode="auto", budgets=Budgets(per_run=7_200))


def _note(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks gains", description=__doc__.partition("\n")[0])
    parser.add_argument("--queries", choices=("demo", "tpch", "tpcds"), default="tpch")
    parser.add_argument("--only", nargs="*", help="only these queries")
    parser.add_argument("--scale", type=float, default=0.1, help="TPC-H scale factor")
    parser.add_argument("--rounds", type=int, default=6, help="interleaved rounds in which gains are measured again")
    parser.add_argument("--folder", type=Path, default=Path(".planopt/gains"), help="where data and stores go")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    found = measured(_workload(options), options.rounds)
    print(json.dumps(found, indent=2) if options.json else _text(found))
    return 1 if found["summary"]["regressed"] else 0


def _text(found: dict[str, Any]) -> str:
    lines = [f"{'query':<26}{'outcome':<14}{'executions':>10}  {'CPU again':<24}{'wall again':<24}policy"]
    for line in found["queries"]:
        cpu, wall = (_words(line[metric]) for metric in ("cpu", "wall"))
        lines.append(
            f"{line['query']:<26}{line['outcome']:<14}{line['executions']:>10}  {cpu:<24}{wall:<24}{line['policy']}"
        )
    s = found["summary"]
    lines.append(f"{s['accepted']} of {s['queries']} queries have a policy")
    if s["accepted"]:
        per, of_all = s["executions_per_accepted_policy"], s["executions_of_all_per_accepted"]
        lines.append(f"executions per accepted policy: {per:.1f}; of all queries, per accepted policy: {of_all:.1f}")
        for metric in ("cpu", "wall"):
            before, after = s["seconds"][metric]
            lines.append(f"all queries together, {metric}: {before:.1f} -> {after:.1f} s, {_words(s['total'][metric])}")
    lines.append(f"regressed: {', '.join(s['regressed']) or 'none'}")
    return "\n".join(lines)


def _words(gain: dict[str, float] | None) -> str:
    return f"{gain['ratio'] - 1:+.0%} ({gain['low'] - 1:+.0%} to {gain['high'] - 1:+.0%})" if gain else ""
