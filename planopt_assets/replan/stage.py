"""Re-plan: plan every proposal without running it, and drop what does not change the plan."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from planopt_assets.errors import PlanoptError
from planopt_assets.model.candidate import Candidate
from planopt_assets.model.decision import Decision
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.observe.fingerprint import plan_fingerprint, topology_hash
from planopt_assets.replan.candidates import policies_to_plan
from planopt_assets.replan.diff import plan_diff
from planopt_assets.run import Run, StageResult, unchanged
from planopt_assets.store.lineage import edges

if TYPE_CHECKING:
    from planopt_assets.model.workload import Query
    from planopt_assets.store.standing import Standing

STAGE = "replan"


def replan(run: Run, query_ids: Sequence[str]) -> list[StageResult]:
    """Candidates for every query with proposals; each says what changes, or why it was dropped."""
    standings = run.standings()
    rows: dict[str, list[dict[str, Any]]] = {"lineage": [], "candidate_plans": []}
    results = []
    for query_id in query_ids:
        standing = standings[query_id]
        if standing.replanned:
            words = "no proposal to plan" if not standing.proposed else "inputs unchanged, evidence stands"
            results.append(unchanged(query_id, STAGE) if standing.proposed else StageResult(query_id, False, words))
            continue
        if not standing.decided:
            results.append(StageResult(query_id, False, "nothing decided for these inputs: materialize decide first"))
            continue
        candidates = _candidates(run, run.workload.query(query_id), standing)
        for candidate in candidates:
            rows["candidate_plans"].append(_row(candidate))
            rows["lineage"] += edges(query_id, STAGE, candidate.id, candidate.decision_ids)
        results.append(_result(query_id, candidates))
        run.progress(STAGE, query_id, results[-1].summary)
    run.append(STAGE, rows)
    return results


def _candidates(run: Run, query: Query, standing: Standing) -> list[Candidate]:
    decisions = tuple(_decision(d) for d in standing.decisions)
    assert standing.input_fingerprint is not None
    return [
        _planned(run, query, policy, ids, standing.input_fingerprint) for policy, ids in policies_to_plan(decisions)
    ]


def _planned(run: Run, query: Query, policy: Policy, decision_ids: tuple[str, ...], inputs: str) -> Candidate:
    """Plan all bindings under the policy; the diff of the first that differs stands for the candidate."""
    diff, fingerprint, topology = "", "", ""
    try:
        for binding in range(len(query.bindings)):
            before, splits_before = run.workspace.plan(query, binding, ORIGINAL)
            after, splits_after = run.workspace.plan(query, binding, policy)
            diff = diff or plan_diff(before, after, splits_before, splits_after)
            if binding == 0:
                fingerprint, topology = plan_fingerprint(after), topology_hash(after)
        reason = "the plan changes" if diff else "dropped: plan and partitioning stay the same"
    except PlanoptError as error:
        diff, reason = "", f"dropped: it cannot be planned: {error}"
    return Candidate(query.id, policy, decision_ids, bool(diff), reason, diff, fingerprint, topology, inputs)


def _decision(row: dict[str, Any]) -> Decision:
    return Decision(
        kind=row["kind"],
        query_id=row["query_id"],
        rule=row["rule"],
        policy_before=Policy.from_json(row["policy_before"]),
        policy_after=Policy.from_json(row["policy_after"]),
        reason=row["reason"],
        expected_gain_cpu_ns=row["expected_gain_cpu_ns"],
        arithmetic=tuple(json.loads(row["arithmetic"]).items()),
        evidence_ids=tuple(row["evidence_ids"]),
        input_fingerprint=row["input_fingerprint"],
        plan_fingerprint=row["plan_fingerprint"],
        catalogue_version=row["catalogue_version"],
    )


def _row(candidate: Candidate) -> dict[str, Any]:
    return {
        "query_id": candidate.query_id,
        "candidate_id": candidate.id,
        "policy_id": candidate.policy.id,
        "policy": candidate.policy.to_json(),
        "decision_ids": list(candidate.decision_ids),
        "kept": candidate.kept,
        "reason": candidate.reason,
        "diff": candidate.diff,
        "plan_fingerprint": candidate.plan_fingerprint,
        "topology_hash": candidate.topology_hash,
        "input_fingerprint": candidate.input_fingerprint,
    }


def _result(query_id: str, candidates: list[Candidate]) -> StageResult:
    kept = [c for c in candidates if c.kept]
    summary = f"{len(kept)} of {len(candidates)} candidates change the plan"
    parts = [f"**{c.policy.describe()}**: {c.reason}\n```diff\n{c.diff}\n```" for c in candidates]
    return StageResult(query_id, True, summary, {"candidates": len(candidates), "kept": len(kept)}, "\n\n".join(parts))
