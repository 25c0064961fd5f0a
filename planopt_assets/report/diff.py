"""What a policy changes in a query's plan, and what its author changed in its text, as one object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from planopt_assets.model.policy import ORIGINAL, Policy

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing

Row = dict[str, Any]


def diff_facts(standing: Standing, planned: Sequence[Row]) -> Row:
    """The plan as original against the plan under the policy that counts most; `planned` are all candidates ever.

    That is the one in force, else the accepted one, else the first candidate that changes the plan.
    """
    role, policy_id = _subject(standing)
    row = next((c for c in reversed(planned) if c["policy_id"] == policy_id), None)
    policy = Policy.from_json(row["policy"]) if row else ORIGINAL
    edits = [edit for a in standing.artifacts[:1] for edit in a.get("edits") or ()]
    return {
        "id": standing.query_id,
        "policy_id": policy_id,
        "policy": policy.describe(),
        "role": role,
        "diff": row["diff"] if row else "",
        "candidate_id": row["candidate_id"] if row else None,
        "edits": edits,
    }


def _subject(standing: Standing) -> tuple[str, str]:
    """In which role a policy is shown, and its id."""
    if standing.active is not None and standing.active.policy != ORIGINAL:
        return "active", standing.active.policy.id
    if standing.best is not None:
        return "accepted", str(standing.best["policy_id"])
    kept = [c for c in standing.candidates if c["kept"]]
    return ("candidate", str(kept[0]["policy_id"])) if kept else ("original", ORIGINAL.id)
