"""Re-plan: plan every proposal without running it, and drop what does not change the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from planopt_assets.loop.planned import planned_candidate
from planopt_assets.loop.run import Run, StageResult, unchanged
from planopt_assets.model.candidate import Candidate
from planopt_assets.model.policy import Policy
from planopt_assets.replan.candidates import Proposed, combination, next_singles
from planopt_assets.store.lineage import edges

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.workload import Query

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
    """Proposals by themselves until one changes the plan, then together those that do."""
    proposed, tried = [Proposed.of(d) for d in standing.proposed], standing.tried
    found: list[Candidate] = []

    def plan(policy: Policy, decision_ids: tuple[str, ...]) -> None:
        assert standing.input_fingerprint is not None
        arm = run.workspace.arm(policy)
        found.append(planned_candidate(run.workspace, query, arm, decision_ids, standing.input_fingerprint))
        tried[policy.id] = "kept" if found[-1].kept else "dropped"

    while singles := next_singles(proposed, tried):
        for single in singles:
            plan(*single)
    if together := combination(proposed, tried):
        plan(*together)
    return found


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
        "took_effect": list(candidate.took_effect),
    }


def _result(query_id: str, candidates: list[Candidate]) -> StageResult:
    kept = [c for c in candidates if c.kept]
    summary = f"{len(kept)} of {len(candidates)} candidates are worth a trial"
    parts = [f"**{c.policy.describe()}**: {_words(c)}\n```diff\n{c.diff}\n```" for c in candidates]
    return StageResult(query_id, True, summary, {"candidates": len(candidates), "kept": len(kept)}, "\n\n".join(parts))


def _words(candidate: Candidate) -> str:
    through = f", through {', '.join(candidate.took_effect)}" if candidate.kept and candidate.took_effect else ""
    return candidate.reason + through
