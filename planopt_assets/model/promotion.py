"""Which policy is in force for a query: generations chained by hash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from planopt_assets.model.ids import content_id
from planopt_assets.model.policy import Policy

State = Literal["accepted", "fixed", "expired", "reverted"]


@dataclass(frozen=True, slots=True)
class Promotion:
    """Generation n of a query's active policy; generation 0 is `original` and is never stored."""

    workload: str
    query_id: str
    generation: int
    policy: Policy
    state: State
    reason: str
    verdict_id: str
    candidate_id: str
    input_fingerprint: str
    previous_hash: str

    @property
    def id(self) -> str:
        return f"pro-{self.query_id}-g{self.generation}"

    @property
    def chain_hash(self) -> str:
        """Covers this promotion and, through `previous_hash`, all before it."""
        return content_id(
            "chn",
            {
                "workload": self.workload,
                "query": self.query_id,
                "generation": self.generation,
                "policy": self.policy.content,
                "state": self.state,
                "verdict": self.verdict_id,
                "candidate": self.candidate_id,
                "inputs": self.input_fingerprint,
                "previous": self.previous_hash,
            },
        )
