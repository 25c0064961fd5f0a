"""The state of each policy a query ever had, from stored rows. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Literal

from planopt_assets.decide.history import RETRY_AFTER_DAYS
from planopt_assets.model.candidate import Candidate
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.promotion import Chain
from planopt_assets.model.verdict import Verdict
from planopt_assets.promote.chain import ended_by

PolicyState = Literal[
    "dropped",
    "candidate",
    "verifying",
    "accepted",
    "rejected",
    "inconclusive",
    "fixed",
    "expired",
    "reverted",
    "suspended",
]


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """The state of one policy of one query, and why."""

    policy: Policy
    state: PolicyState
    reason: str
    in_force: bool = False
    retry_after_days: int | None = None  # days until a retry, after a rejection or a revert by watch

    def facts(self) -> dict[str, Any]:
        return {
            "policy_id": self.policy.id,
            "policy": self.policy.describe(),
            "state": self.state,
            "reason": self.reason,
            "in_force": self.in_force,
            "retry_after_days": self.retry_after_days,
        }


def lifecycles(
    candidates: Sequence[Candidate],
    tried: frozenset[str],
    verdicts: Sequence[Verdict],
    chain: Chain,
    suspended: str = "",
) -> tuple[Lifecycle, ...]:
    """Each policy that was ever planned, tried, promoted or pinned for a query, in order of first appearance.

    `suspended` is why the one in force is not applied.
    """
    policies = dict.fromkeys([*(c.policy for c in candidates), *(v.policy for v in verdicts), *_promoted(chain)])
    found = (
        lifecycle(
            policy,
            candidates=candidates,
            tried=tried,
            verdicts=verdicts,
            chain=chain,
            retry_after_days=RETRY_AFTER_DAYS,
            suspended=suspended,
        )
        for policy in policies
    )
    return tuple(one for one in found if one is not None)


def _promoted(chain: Chain) -> list[Policy]:
    """All promoted policies. Original counts only if a person pinned it."""
    return [p.policy for p in chain if p.policy != ORIGINAL or p.fixed]


def lifecycle(
    policy: Policy,
    *,
    candidates: Sequence[Candidate],
    tried: frozenset[str],
    verdicts: Sequence[Verdict],
    chain: Chain,
    retry_after_days: Mapping[Any, int],
    suspended: str = "",
) -> Lifecycle | None:
    """The state of a policy. None: it was never proposed or pinned.

    The chain decides first, unless there is a newer verdict: a policy that expired and was accepted again is
    `accepted`. `tried` holds the ids of policies with trials. Rows are oldest first.
    """
    verdict = next((v for v in reversed(verdicts) if v.policy == policy), None)
    if chain and chain[-1].policy == policy and suspended:
        return Lifecycle(policy, "suspended", suspended, in_force=True)
    if chain and chain[-1].policy == policy:
        state: PolicyState = "fixed" if chain[-1].fixed else "accepted"
        return Lifecycle(policy, state, chain[-1].reason, in_force=True)
    left = ended_by(chain, policy)
    known = {p.verdict_id for p in chain} | {row for p in chain for row in p.evidence_ids}
    if left is not None and (verdict is None or verdict.id in known):
        if left.state == "expired":
            return Lifecycle(policy, "expired", left.reason)
        days = retry_after_days.get("reject") if left.who is None else None  # reverted by watch: like a rejection
        return Lifecycle(policy, "reverted", left.reason, retry_after_days=days)
    if verdict is not None:
        outcome: dict[str, PolicyState] = {"accept": "accepted", "reject": "rejected", "inconclusive": "inconclusive"}
        days = None if verdict.accepted else _waits([v for v in verdicts if v.policy == policy], retry_after_days)
        return Lifecycle(policy, outcome[verdict.outcome], verdict.reason, retry_after_days=days)
    candidate = next((c for c in reversed(candidates) if c.policy == policy), None)
    if candidate is None:
        return None
    if not candidate.kept:
        return Lifecycle(policy, "dropped", candidate.reason)
    return Lifecycle(policy, "verifying" if policy.id in tried else "candidate", candidate.reason)


def _waits(of_policy: Sequence[Verdict], days: Mapping[Any, int]) -> int | None:
    """Days until a retry. As history has it: each trial in a row without a clear answer doubles them."""
    known, tried = days.get(of_policy[-1].outcome), [v for v in of_policy if not v.confirms and not v.leaves_out]
    unclear = len(list(takewhile(lambda v: v.outcome == "inconclusive", reversed(tried))))
    return None if known is None else known * 2 ** max(0, unclear - 1)
