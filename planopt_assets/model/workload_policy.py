"""A workload policy: settings that most queries gained from, as one choice for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planopt_assets.model.policy import Policy
from planopt_assets.model.verdict import Verdict

WHOLE_WORKLOAD = "*"
"""In the place of a query id, in rows that are about all queries together. No query can have this name."""


@dataclass(frozen=True, slots=True)
class WorkloadPolicy:
    """What is proposed for all queries, which of them gained from it, and what the judge said about the whole."""

    policy: Policy
    gained: tuple[str, ...]  # queries with a policy in force, or accepted, that sets all of it
    queries: int
    verdict: Verdict | None = None  # None: not tried on inputs like these
    untried: tuple[str, ...] = ()  # queries that were not measured under it, as far as somebody asked

    @property
    def accepted(self) -> bool:
        return self.verdict is not None and self.verdict.proven

    @property
    def state(self) -> str:
        return self.verdict.outcome if self.verdict else "proposed"

    def differs(self, policy: Policy) -> Policy:
        """What is left to set for a query beside the workload policy."""
        return policy.beyond(self.policy)

    def left_out_for(self, query_id: str, own: Policy | None) -> tuple[str, ...]:
        """Its settings that do not hold for a query: what its own policy does not set was not set when it was accepted.

        None: it was never promoted, and was judged under this policy, if it was tried. A query that was promoted and
        has original now was pinned, taken back or suspended: that holds for it.

        >>> every = WorkloadPolicy(Policy.of({"a": "1", "b": "2"}), (), 4, untried=("sampled",))
        >>> every.left_out_for("q", Policy.of({"a": "8"})), every.left_out_for("q", None)
        (('b',), ())
        >>> every.left_out_for("pinned", Policy()), every.left_out_for("sampled", None)
        (('a', 'b'), ('a', 'b'))
        """
        if own is None and query_id not in self.untried:
            return ()
        set_by_it = dict(own.settings) if own else {}
        return tuple(name for name, _ in self.policy.settings if name not in set_by_it)

    def describe(self) -> str:
        told = f"{self.state}: {self.verdict.reason}" if self.verdict else "not tried on the whole workload"
        return f"{self.policy.describe()} (of use to {len(self.gained)} of {self.queries} queries; {told})"

    def facts(self) -> dict[str, Any]:
        return {
            "policy_id": self.policy.id,
            "policy": self.policy.facts(),
            "gained": list(self.gained),
            "queries": self.queries,
            "state": self.state,
            "reason": self.verdict.reason if self.verdict else None,
            "verdict_id": self.verdict.id if self.verdict else None,
        }
