"""A policy that was planned, not run: does it change the plan at all?"""

from __future__ import annotations

from dataclasses import dataclass, field

from planopt_assets.model.ids import content_id
from planopt_assets.model.policy import Policy
from planopt_assets.model.stamp import NOT_STORED, Stamp


@dataclass(frozen=True, slots=True)
class Candidate:
    """One policy worth a trial, or dropped with the reason; `diff` reads like a patch of the plan.

    It is empty for what works only at run time, and for what was dropped.
    """

    query_id: str
    policy: Policy
    decision_ids: tuple[str, ...]
    kept: bool
    reason: str
    diff: str
    plan_fingerprint: str
    topology_hash: str
    input_fingerprint: str
    took_effect: tuple[str, ...] = ()  # the parts of the policy without which the plan would be another
    stamp: Stamp = field(default=NOT_STORED, compare=False)

    @property
    def id(self) -> str:
        return content_id(
            "can",
            {
                "query": self.query_id,
                "policy": self.policy.content,
                "inputs": self.input_fingerprint,
                "plan": self.plan_fingerprint,
            },
        )
