"""Why a query ended as it did, as one object: every stored step that led there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from planopt_assets.model.policy import Policy

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing


def why_facts(standing: Standing) -> dict[str, Any]:
    """Outcome, decisions with their arithmetic, candidates with their plan changes, verdicts with their criteria."""
    active = standing.active
    return {
        **standing.facts(),
        "in_force": active.describe() if active else "original",
        "decisions": [
            {
                "id": d["decision_id"],
                "rule": d["rule"],
                "kind": d["kind"],
                "reason": d["reason"],
                "arithmetic": json.loads(d["arithmetic"]),
            }
            for d in standing.decisions
        ],
        "candidates": [
            {
                "id": c["candidate_id"],
                "policy": Policy.from_json(c["policy"]).describe(),
                "kept": c["kept"],
                "reason": c["reason"],
                "diff": c["diff"],
            }
            for c in standing.candidates
        ],
        "verdicts": [
            {
                "id": v["verdict_id"],
                "policy": Policy.from_json(v["policy"]).describe(),
                "outcome": v["outcome"],
                "reason": v["reason"],
                "pairs": v["pairs"],
                "criteria": json.loads(v["criteria"]),
            }
            for v in standing.verdicts
        ],
    }
