"""Revalidate: what is in force, measured again against original. What is found worse is then due to be reverted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planopt_assets.loop.planned import planned_candidate
from planopt_assets.loop.run import Run, StageResult
from planopt_assets.loop.stages.validate import Asked, try_candidates
from planopt_assets.loop.step import Step, only_looks
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.store.codecs.deciding import CANDIDATES, EDGES
from planopt_assets.store.lineage import edges

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.candidate import Candidate
    from planopt_assets.model.promotion import Promotion

STAGE = "revalidate"


def revalidate(run: Run, query_ids: Sequence[str]) -> list[StageResult]:
    """A new verdict on the policy in force of each query, on the current inputs. It promotes and reverts nothing."""
    run.store.refresh()
    standings = run.standings()
    steps = {q: revalidate_step(standings[q]) for q in query_ids}
    planned = {q: _candidate(run, standings[q]) for q, step in steps.items() if step.needed}
    new = [c for q, c in planned.items() if c not in standings[q].candidates]
    lineage = [edge for c in new for edge in edges(c.query_id, STAGE, c.id, [_promotion(standings[c.query_id]).id])]
    run.append(STAGE, {EDGES: lineage, CANDIDATES: new})
    tried: dict[str, list[Asked]] = {q: [([c], "confirm")] for q, c in planned.items() if c.kept}
    return try_candidates(run, [(standings[q], tried.get(q, []), steps[q]) for q in query_ids])


def revalidate_step(standing: Standing) -> Step:
    """Whether there is something in force to measure, and why not."""
    if standing.broken is not None:
        return Step(STAGE, "off", str(standing.broken))
    if standing.mode == "observe":
        return only_looks(STAGE)
    if standing.active is None or standing.active.policy == ORIGINAL:
        return Step(STAGE, "off", "the query runs as original: there is nothing to measure again")
    if not standing.captured:
        return Step(STAGE, "depends", "nothing observed for these inputs: materialize observe first")
    if standing.vetoed:
        return Step(STAGE, "off", f"not applied: {standing.vetoed}")
    return Step(STAGE, "needed", f"generation {standing.active.generation} is in force")


def _candidate(run: Run, standing: Standing) -> Candidate:
    """The policy in force, planned on the current inputs unless that is stored already."""
    assert standing.input_fingerprint is not None
    policy = _promotion(standing).policy
    known = next((c for c in standing.candidates if c.policy == policy), None)
    if known is not None:
        return known
    run.workspace.revive()
    query = run.workload.query(standing.query_id)
    return planned_candidate(run.workspace, query, run.workspace.arm(policy), (), standing.input_fingerprint)


def _promotion(standing: Standing) -> Promotion:
    assert standing.active is not None, "only what is in force is measured again"
    return standing.active
