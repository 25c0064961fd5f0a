"""What decide answers: a proposal, no change, or cannot tell; each with its arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from planopt_assets.model.ids import content_id
from planopt_assets.model.policy import Policy

DecisionKind = Literal["proposal", "no_change", "cannot_tell"]
Arithmetic = tuple[tuple[str, float | int | str], ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """One rule's answer for one query, stored whether or not it proposes anything.

    The id covers what was decided and on which plan and inputs; measured times are in `arithmetic`
    and stay outside, so that two runs over the same inputs give the same id.
    """

    kind: DecisionKind
    query_id: str
    rule: str
    policy_before: Policy
    policy_after: Policy
    reason: str
    expected_gain_cpu_ns: int
    arithmetic: Arithmetic
    evidence_ids: tuple[str, ...]
    input_fingerprint: str
    plan_fingerprint: str
    catalogue_version: str

    @property
    def id(self) -> str:
        return content_id(
            "dec",
            {
                "kind": self.kind,
                "query": self.query_id,
                "rule": self.rule,
                "before": self.policy_before.content,
                "after": self.policy_after.content,
                "inputs": self.input_fingerprint,
                "plan": self.plan_fingerprint,
                "catalogue": self.catalogue_version,
            },
        )


def proposals(decisions: tuple[Decision, ...]) -> tuple[Decision, ...]:
    return tuple(d for d in decisions if d.kind == "proposal")
