"""Why a query has its outcome, as one object: all stored steps that led to it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing


def why_facts(standing: Standing) -> dict[str, Any]:
    """Outcome, decisions with their arithmetic, candidates with their plan changes, verdicts with their criteria."""
    active = standing.active
    return {
        **standing.facts(),
        "in_force": active.describe() if active else "original",
        "decisions": [
            {"id": d.id, "rule": d.rule, "kind": d.kind, "reason": d.reason, "arithmetic": dict(d.arithmetic)}
            for d in standing.decisions
        ],
        "candidates": [
            {"id": c.id, "policy": c.policy.describe(), "kept": c.kept, "reason": c.reason, "diff": c.diff}
            for c in standing.candidates
        ],
        "verdicts": [
            {
                "id": v.id,
                "policy": v.policy.describe(),
                "outcome": v.outcome,
                "reason": v.reason,
                "pairs": v.judgement.pairs,
                "criteria": [asdict(c) for c in v.judgement.criteria],
            }
            for v in standing.verdicts
        ],
    }
