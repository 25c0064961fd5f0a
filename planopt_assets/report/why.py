"""Why a query has its outcome, as one object: all stored steps that led to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from planopt_assets.decide.parallelism import by_cores
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.report.standing_facts import standing_facts

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.execution import Execution


def why_facts(standing: Standing, production: Sequence[Execution] = ()) -> dict[str, Any]:
    """Outcome, real runs, decisions with their arithmetic, candidates with their plan changes, verdicts."""
    active = standing.active
    return {
        **standing_facts(standing),
        "in_force": standing.in_force,
        "depends_on": active.conditions.describe() if active and active.conditions else [],
        "depends_on_cores": list(by_cores(*standing.shown_policies, *(c.policy for c in standing.candidates))),
        "error_budget_words": standing.error_budget.describe(),
        "production": _production(standing, production),
        "decisions": [
            {
                "id": d.id,
                "rule": d.rule,
                "beyond": d.beyond,
                "kind": d.kind,
                "reason": d.reason,
                "arithmetic": dict(d.arithmetic),
            }
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
                "error_available": v.error_available,
                "error_spent": v.error_spent,
                "error_words": v.error_words,
                "criteria": [asdict(c) for c in v.judgement.criteria],
            }
            for v in standing.verdicts
        ],
    }


def _production(standing: Standing, executions: Sequence[Execution]) -> list[dict[str, Any]]:
    """Runs of the user's own jobs, per policy. `executions` are oldest first."""
    known = {p.id: p for p in (ORIGINAL, *(p.policy for p in standing.policies), *(p.policy for p in standing.chain))}
    by_policy: dict[str, list[Execution]] = {}
    for execution in executions:
        by_policy.setdefault(execution.policy_id, []).append(execution)
    return [
        {
            "policy_id": policy_id,
            "policy": known[policy_id].describe() if policy_id in known else policy_id,
            "runs": len(runs),
            "controls": sum(run.control is True for run in runs),
            "since": _moment(runs[0]),
            "until": _moment(runs[-1]),
            "failed": sum(run.status == "failed" for run in runs),
            "last_failure": next((_failure(run) for run in reversed(runs) if run.status == "failed"), None),
        }
        for policy_id, runs in by_policy.items()
    ]


def _failure(execution: Execution) -> dict[str, Any]:
    return {"at": _moment(execution), "note": execution.note}


def _moment(execution: Execution) -> str:
    return execution.stamp.recorded_at.isoformat(timespec="seconds")
