"""What a policy changes in a query's plan, and what changed in the query's text, as one object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from planopt_assets.model.policy import ORIGINAL, Policy

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.candidate import Candidate


def diff_facts(standing: Standing, planned: Sequence[Candidate]) -> dict[str, Any]:
    """The plan of original against the plan under one policy. `planned` holds all candidates ever planned.

    The policy is the one in force, else the accepted one, else the first candidate that changes the plan.
    """
    role, policy = _subject(standing)
    candidate = next((c for c in reversed(planned) if c.policy == policy), None)
    edits = [edit for a in standing.artifacts[:1] for edit in a.edits]
    return {
        "id": standing.query_id,
        "policy_id": policy.id,
        "policy": (candidate.policy if candidate else ORIGINAL).describe(),
        "role": role,
        "diff": candidate.diff if candidate else "",
        "candidate_id": candidate.id if candidate else None,
        "edits": edits,
    }


def _subject(standing: Standing) -> tuple[str, Policy]:
    """The policy to show, and its role."""
    if standing.active is not None and standing.active.policy != ORIGINAL:
        return "active", standing.active.policy
    if standing.best is not None:
        return "accepted", standing.best.policy
    kept = [c for c in standing.candidates if c.kept]
    return ("candidate", kept[0].policy) if kept else ("original", ORIGINAL)
