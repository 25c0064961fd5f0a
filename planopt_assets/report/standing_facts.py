"""Where a query stands as one object, the way `--json` prints it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from planopt_assets.decide.parallelism import by_cores
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.promote.confirmation import cost_s

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing


def standing_facts(standing: Standing) -> dict[str, Any]:
    gain, deciding, active = standing.gain, standing.deciding, standing.active
    return {
        "id": standing.query_id,
        "outcome": standing.outcome,
        "reason": standing.reason,
        "results_equal": deciding.results_equal if deciding else None,
        "policy_id": standing.policy.id,
        "policy": standing.policy.facts(),
        "gain": asdict(gain) if gain else None,
        "active_policy": (active.policy if active else ORIGINAL).facts(),
        "active_policy_id": active.policy.id if active else ORIGINAL.id,
        "depends_on_cores": list(by_cores(*standing.shown_policies)),
        "generation": active.generation if active else 0,
        "state": standing.state,
        "state_reason": standing.suspended or (active.reason if active else ""),
        "conditions": active.conditions.facts() if active and active.conditions else None,
        "not_applied": standing.not_applied or None,
        "due": standing.due.reason if standing.due else None,
        "confirmation": _confirmation_facts(standing),
        "error_budget": standing.error_budget.facts(),
        "policies": [p.facts() for p in standing.policies],
        "promotion_id": active.id if active else None,
        "verdict_id": deciding.id if deciding else None,
        "carried_over": deciding in standing.carried,
        "observation_ids": [a.observation_id for a in standing.artifacts],
        "plan_fingerprints": [a.plan_fingerprint for a in standing.artifacts],
        "topology_hashes": [a.topology_hash for a in standing.artifacts],
        "decision_ids": [d.id for d in standing.decisions],
    }


def _confirmation_facts(standing: Standing) -> dict[str, Any] | None:
    found = standing.confirmation
    if found is None:
        return None
    cost = cost_s(standing.promoted_by) if found.state == "open" else None
    return {"state": found.state, "reason": found.reason, "due": found.due(standing.at), "cost_s": cost}
