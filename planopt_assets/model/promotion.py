"""The policy in force for a query, and why: generations linked by a hash chain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from planopt_assets.model.conditions import Conditions
from planopt_assets.model.ids import content_id
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.stamp import NOT_STORED, Stamp

State = Literal["accepted", "fixed", "expired", "reverted"]
"""The cause of a generation: an accepted verdict, a pin, an expiry, or a regression or rollback."""

GENESIS = "chn_genesis"


@dataclass(frozen=True, slots=True)
class Promotion:
    """Generation n of a query's active policy. Generation 0 is `original` and is never stored.

    `policy` is in force from this generation on. For `expired` and `reverted` it is the policy that the query went back
    to. Verdict, candidate and inputs are the evidence of that policy; empty if it has none.
    """

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
    restores: int | None = None  # the generation whose policy is in force again; 0 is original
    who: str | None = None  # the person who chose it; None: automation, or an older planopt
    evidence_ids: tuple[str, ...] = ()  # the rows that caused an expiry or a revert
    conditions: Conditions | None = None  # of the evidence; None: a pin, original, or an older planopt
    stamp: Stamp = field(default=NOT_STORED, compare=False)

    @property
    def id(self) -> str:
        return f"pro-{self.query_id}-g{self.generation}"

    @property
    def fixed(self) -> bool:
        """Whether a person pinned it. Automation does not change a pin."""
        return self.state == "fixed"

    def describe(self) -> str:
        """The policy in force, and why, if the cause is not just a verdict.

        >>> Promotion("w", "q", 2, ORIGINAL, "reverted", "too slow", "", "", "", "chn_1", who="ada").describe()
        'generation 2 (reverted by ada): original, because too slow'
        """
        how = f" by {self.who}" if self.who else ""
        state = "" if self.state == "accepted" and not self.who else f" ({self.state}{how})"
        why = f", because {self.reason}" if state and self.reason else ""
        return f"generation {self.generation}{state}: {self.policy.describe()}{why}"

    @property
    def chain_hash(self) -> str:
        """Covers this promotion and, by `previous_hash`, all earlier ones. Fields that are not set are left out."""
        later = {
            "restores": self.restores,
            "who": self.who,
            "evidence": list(self.evidence_ids) or None,
            "conditions": self.conditions.facts() if self.conditions else None,
        }
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
                **{name: value for name, value in later.items() if value is not None},
            },
        )


Chain = tuple[Promotion, ...]
"""All generations of a query, oldest first. Generation n has index n - 1."""


def in_force(chain: Chain) -> Policy:
    """The policy of the newest generation. A query without promotions runs as original."""
    return chain[-1].policy if chain else ORIGINAL
