"""Which policy is in force for a query, and why: generations chained by hash."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from planopt_assets.model.ids import content_id
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.stamp import NOT_STORED, Stamp

State = Literal["accepted", "fixed", "expired", "reverted"]
"""How a generation came to be: a verdict, a person's choice, evidence that ended, a regression or rollback."""

GENESIS = "chn_genesis"


@dataclass(frozen=True, slots=True)
class Promotion:
    """Generation n of a query's active policy; generation 0 is `original` and is never stored.

    `policy` is what is in force from this generation on, so for `expired` and `reverted` it is what the query went
    back to. The verdict, candidate and inputs are those that policy rests on; empty where it rests on none.
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
    evidence_ids: tuple[str, ...] = ()  # the rows that made it expire or revert
    stamp: Stamp = field(default=NOT_STORED, compare=False)

    @property
    def id(self) -> str:
        return f"pro-{self.query_id}-g{self.generation}"

    @property
    def fixed(self) -> bool:
        """A person's choice: automation leaves it alone."""
        return self.state == "fixed"

    def describe(self) -> str:
        """What is in force, and why where it is not just a verdict.

        >>> Promotion("w", "q", 2, ORIGINAL, "reverted", "too slow", "", "", "", "chn_1", who="ada").describe()
        'generation 2 (reverted by ada): original, because too slow'
        """
        how = f" by {self.who}" if self.who else ""
        state = "" if self.state == "accepted" and not self.who else f" ({self.state}{how})"
        why = f", because {self.reason}" if state and self.reason else ""
        return f"generation {self.generation}{state}: {self.policy.describe()}{why}"

    @property
    def chain_hash(self) -> str:
        """Covers this promotion and, through `previous_hash`, all before it; what is not set is absent."""
        later = {"restores": self.restores, "who": self.who, "evidence": list(self.evidence_ids) or None}
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
"""All generations of a query, oldest first: generation n is at place n - 1."""


def in_force(chain: Chain) -> Policy:
    """The newest generation's policy; a query that was never promoted runs as original."""
    return chain[-1].policy if chain else ORIGINAL
