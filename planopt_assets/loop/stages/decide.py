"""Decide: ask the rules about every query that was observed and not decided on yet."""

from __future__ import annotations

from collections.abc import Sequence

from planopt_assets.loop.decisions import decisions_for
from planopt_assets.loop.run import Run, StageResult, nothing_to_do, remark_on
from planopt_assets.model.decision import Decision
from planopt_assets.model.records import Edge
from planopt_assets.store.codecs.deciding import DECISIONS, EDGES
from planopt_assets.store.lineage import edges

STAGE = "decide"


def decide_queries(run: Run, query_ids: Sequence[str]) -> list[StageResult]:
    """One stored decision per rule and query, also for `no_change` and `cannot_tell`."""
    lineage: list[Edge] = []
    decided: list[Decision] = []
    results = []
    for standing, step in run.steps(STAGE, query_ids):
        if not step.needed:
            results.append(nothing_to_do(standing.query_id, step))
            continue
        decisions = decisions_for(run.workload, run.snapshot, standing)
        decided += decisions
        for decision in decisions:
            lineage += edges(standing.query_id, STAGE, decision.id, decision.evidence_ids)
        results.append(_result(standing.query_id, decisions))
        run.progress(STAGE, standing.query_id, results[-1].summary)
    run.append(STAGE, {EDGES: lineage, DECISIONS: decided})
    return results


def _result(query_id: str, decisions: tuple[Decision, ...]) -> StageResult:
    wanted = [d for d in decisions if d.proposes]
    summary = "; ".join(f"try {d.policy_after.describe()}" for d in wanted) or decisions[0].reason
    lines = ["| rule | decision | reason |", "|---|---|---|"]
    lines += [
        f"| {d.rule} | {d.kind} {d.policy_after.describe() if d.proposes else ''} | {d.reason} |" for d in decisions
    ]
    numbers = {"proposals": len(wanted), "expected_gain_cpu_s": sum(d.expected_gain_cpu_ns for d in wanted) / 1e9}
    words = remark_on(*(d.policy_after for d in wanted))
    return StageResult(query_id, True, summary, numbers, "\n".join(lines), words)
