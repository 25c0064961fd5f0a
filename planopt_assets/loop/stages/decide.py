"""Decide: ask the rules about every query that was observed and not decided on yet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any

from planopt_assets.decide.decide import cannot_tell, decide
from planopt_assets.decide.history import History
from planopt_assets.loop.run import Run, StageResult, unchanged
from planopt_assets.loop.standing import Standing
from planopt_assets.model.decision import Decision, proposals
from planopt_assets.model.past_verdict import PastVerdict, TakenBack
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.verdict import NOT_TRIED
from planopt_assets.model.workload import Workload
from planopt_assets.observe.evidence import evidence_from_rows
from planopt_assets.promote.chain import taken_back
from planopt_assets.store.lineage import edges
from planopt_assets.store.reader import StoreReader

STAGE = "decide"


def decide_queries(run: Run, query_ids: Sequence[str]) -> list[StageResult]:
    """One stored decision per rule and query, also for `no_change` and `cannot_tell`."""
    standings = run.standings()
    rows: dict[str, list[dict[str, Any]]] = {"lineage": [], "policy_decisions": []}
    results = []
    for query_id in query_ids:
        standing = standings[query_id]
        if standing.decided:
            results.append(unchanged(query_id, STAGE))
        elif run.workload.mode == "observe":
            results.append(StageResult(query_id, False, "the workload's mode is observe: planopt only looks"))
        elif not standing.observed:
            results.append(StageResult(query_id, False, "nothing observed for these inputs: materialize observe first"))
        else:
            decisions = decisions_for(run.workload, run.reader, standing)
            rows["policy_decisions"] += [decision_row(d) for d in decisions]
            for decision in decisions:
                rows["lineage"] += edges(query_id, STAGE, decision.id, decision.evidence_ids)
            results.append(_result(query_id, decisions))
            run.progress(STAGE, query_id, results[-1].summary)
    run.append(STAGE, rows)
    return results


def decisions_for(workload: Workload, reader: StoreReader, standing: Standing) -> tuple[Decision, ...]:
    """The decisions the stored rows of a query lead to; asked again, on any later day, the same ones."""
    observations = tuple(a["observation_id"] for a in standing.artifacts)
    assert standing.input_fingerprint is not None
    if standing.captured:
        counters = reader.rows("runtime_counters", query_id=standing.query_id)
        query = workload.query(standing.query_id)
        return decide(
            evidence_from_rows(standing.artifacts, counters, query.runs_per_day, workload.objective),
            workload.knobs,
            history=history_of(standing),
            now=observed_at(standing),
        )
    return (
        cannot_tell(
            standing.query_id,
            standing.reason,
            policy=ORIGINAL,
            inputs=standing.input_fingerprint,
            evidence_ids=observations,
        ),
    )


def history_of(standing: Standing) -> History:
    """Every verdict that was there when these inputs were observed: later ones must not change what was decided.

    The same holds for what was taken back: a policy that watch reverts tomorrow was accepted today.
    """
    seen = standing.artifacts[-1]["recorded_at"]
    gone = _taken_back(standing, seen)
    return History(
        standing.canonical_fingerprint,
        standing.context_hash,
        standing.input_bytes,
        tuple(
            PastVerdict(
                verdict_id=v["verdict_id"],
                policy=Policy.from_json(v["policy"]),
                outcome=v["outcome"],
                reason=v["reason"],
                canonical_fingerprint=v["canonical_fingerprint"],
                context_hash=v["context_hash"],
                input_bytes=v["input_bytes"],
                judged_at=int(v["recorded_at"].timestamp()),
                taken_back=gone.get(v["verdict_id"]) if v["outcome"] == "accept" else None,
            )
            for v in standing.past_verdicts
            if v["recorded_at"] < seen and not v["reason"].startswith(NOT_TRIED)  # nothing ran: nothing is known
        ),
    )


def _taken_back(standing: Standing, seen: datetime) -> dict[str, TakenBack]:
    """By verdict, from the generations that were there when these inputs were observed."""
    at = {r["generation"]: r["recorded_at"] for r in standing.promotions if r["recorded_at"] < seen}
    chain = tuple(takewhile(lambda p: p.generation in at, standing.chain))
    return {
        verdict_id: TakenBack(
            "expired" if by.state == "expired" else "reverted", by.id, by.reason, int(at[by.generation].timestamp())
        )
        for verdict_id, by in taken_back(chain).items()
    }


def observed_at(standing: Standing) -> int:
    return int(standing.artifacts[-1]["recorded_at"].timestamp())


def decision_row(decision: Decision) -> dict[str, Any]:
    return {
        "query_id": decision.query_id,
        "decision_id": decision.id,
        "kind": decision.kind,
        "rule": decision.rule,
        "policy_before": decision.policy_before.to_json(),
        "policy_after": decision.policy_after.to_json(),
        "policy_before_id": decision.policy_before.id,
        "policy_after_id": decision.policy_after.id,
        "reason": decision.reason,
        "expected_gain_cpu_ns": decision.expected_gain_cpu_ns,
        "arithmetic": json.dumps(dict(decision.arithmetic)),
        "evidence_ids": list(decision.evidence_ids),
        "input_fingerprint": decision.input_fingerprint,
        "plan_fingerprint": decision.plan_fingerprint,
        "catalogue_version": decision.catalogue_version,
    }


def _result(query_id: str, decisions: tuple[Decision, ...]) -> StageResult:
    wanted = proposals(decisions)
    summary = "; ".join(f"try {d.policy_after.describe()}" for d in wanted) or decisions[0].reason
    lines = ["| rule | decision | reason |", "|---|---|---|"]
    lines += [
        f"| {d.rule} | {d.kind} {d.policy_after.describe() if d.kind == 'proposal' else ''} | {d.reason} |"
        for d in decisions
    ]
    numbers = {"proposals": len(wanted), "expected_gain_cpu_s": sum(d.expected_gain_cpu_ns for d in wanted) / 1e9}
    return StageResult(query_id, True, summary, numbers, "\n".join(lines))
