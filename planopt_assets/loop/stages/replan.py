"""Re-plan: plan every proposal and the policy in force without running them; drop what does not change the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from planopt_assets.loop.planned import planned_candidate
from planopt_assets.loop.run import Run, StageResult, nothing_to_do, remark_on
from planopt_assets.model.candidate import Candidate
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.replan.candidates import Proposed, combination, next_singles
from planopt_assets.store.codecs.deciding import CANDIDATES, EDGES
from planopt_assets.store.lineage import edges

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.workload import Query
    from planopt_assets.store.codecs.codec import AnyCodec

STAGE = "replan"


def replan(run: Run, query_ids: Sequence[str]) -> list[StageResult]:
    """Candidates for every query with proposals; each says what changes, or why it was dropped."""
    kept: dict[AnyCodec, list[Any]] = {EDGES: [], CANDIDATES: []}
    results = []
    for standing, step in run.steps(STAGE, query_ids):
        query_id = standing.query_id
        if not step.needed:
            results.append(nothing_to_do(query_id, step))
            continue
        run.workspace.revive()
        lost, candidates = run.workspace.sessions_lost, list[Candidate]()
        try:
            _candidates(run, run.workload.query(query_id), standing, candidates)
        finally:  # also where no new session starts: a candidate that ended one is not planned again
            for candidate in candidates:
                kept[CANDIDATES].append(candidate)
                kept[EDGES] += edges(query_id, STAGE, candidate.id, _parents(candidate, standing))
            if run.workspace.sessions_lost > lost:
                run.keep(STAGE, query_id, kept)
        results.append(_result(query_id, candidates))
        run.progress(STAGE, query_id, results[-1].summary)
    run.append(STAGE, kept)
    return results


def _candidates(run: Run, query: Query, standing: Standing, found: list[Candidate]) -> None:
    """Add to `found` the proposals by themselves until one changes the plan, then together those that do.

    A round that adds to an accepted policy asks what changes beside that one. In the first round the policy in force
    comes last, so that it meets whatever is tried.
    """
    proposed, tried = [Proposed.of(d) for d in standing.this_round if d.proposes], standing.tried

    def plan(policy: Policy, decision_ids: tuple[str, ...], against: Policy = ORIGINAL) -> None:
        inputs = standing.input_fingerprint
        assert inputs is not None
        arm, before = run.workspace.arm(policy), run.workspace.arm(against)
        found.append(planned_candidate(run.workspace, query, arm, decision_ids, inputs, baseline=before))
        tried[policy.id] = "kept" if found[-1].kept else "dropped"

    for policy in standing.unplanned:
        assert standing.in_force_as is not None
        plan(policy, standing.in_force_as.decision_ids)
    base = standing.base_policy
    while singles := next_singles(proposed, tried):
        for single in singles:
            plan(*single, base)
    if together := combination(proposed, tried):
        plan(*together, base)
    if base == ORIGINAL and (incumbent := standing.incumbent(tried)):
        plan(incumbent, ())


def _parents(candidate: Candidate, standing: Standing) -> tuple[str, ...]:
    """The decisions behind a candidate. Behind the policy in force, which no rule proposed again, its promotion."""
    return candidate.decision_ids or ((standing.active.id,) if standing.active else ())


def _result(query_id: str, candidates: list[Candidate]) -> StageResult:
    kept = [c for c in candidates if c.kept]
    summary = f"{len(kept)} of {len(candidates)} candidates are worth a trial"
    parts = [f"**{c.policy.describe()}**: {_words(c)}\n```diff\n{c.diff}\n```" for c in candidates]
    numbers = {"candidates": len(candidates), "kept": len(kept)}
    words = remark_on(*(c.policy for c in candidates))
    return StageResult(query_id, True, summary, numbers, "\n\n".join(parts), words)


def _words(candidate: Candidate) -> str:
    through = f", through {', '.join(candidate.took_effect)}" if candidate.kept and candidate.took_effect else ""
    return candidate.reason + through
