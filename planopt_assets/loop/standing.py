"""Where a query stands: what the store knows about it for the inputs as they are now.

Each stage asks this first and does only what is missing. That is why an unchanged query costs nothing, and why a
killed run goes on where it stopped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from planopt_assets.loop.priority import NO_PROMISE, Promise, promise
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.verdict import Gain
from planopt_assets.promote.chain import spent
from planopt_assets.replan.candidates import Proposed, Tried, combination, next_singles

if TYPE_CHECKING:
    from planopt_assets.model.promotion import Chain, Promotion
    from planopt_assets.promote.lifecycle import Lifecycle
    from planopt_assets.promote.transitions import Expire, Revert

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Standing:
    """One query: its current inputs, every stored row made from exactly these inputs, and what else still counts."""

    query_id: str
    query_fingerprint: str
    input_fingerprint: str | None  # None: never observed, so the tables it reads are not known
    mode: str
    artifacts: Rows
    decisions: Rows
    candidates: Rows
    verdicts: Rows
    active: Promotion | None
    promoted_by: dict[str, Any] | None = None  # the verdict the active policy rests on, whatever its inputs were
    carried: Sequence[dict[str, Any]] = ()  # accepted verdicts on similar inputs that a decision on these relies on
    past_verdicts: Sequence[dict[str, Any]] = ()  # all of the query, whatever their inputs
    canonical_fingerprint: str | None = None  # with the two below: which past verdicts count, and where these will
    context_hash: str | None = None
    input_bytes: int | None = None
    changes: tuple[str, ...] = ()  # since the last observation; empty where it still stands, or there is none
    chain: Chain = ()  # all generations; `active` is the last
    promotions: Sequence[dict[str, Any]] = ()  # the same as stored rows, with their times
    due: Expire | Revert | None = None  # what watch found and nobody has written yet
    policies: tuple[Lifecycle, ...] = ()  # the state of every policy the query ever had
    unlinked: bool = False  # a promotion has no lineage: its run was killed in between

    @property
    def observed(self) -> bool:
        return bool(self.artifacts)

    @property
    def failed(self) -> bool:
        """It could not be run; unlike a refusal that may have passed, so every run tries it again."""
        return any(a["status"] == "failed" for a in self.artifacts)

    @property
    def captured(self) -> bool:
        return self.observed and all(a["status"] == "captured" for a in self.artifacts)

    @property
    def decided(self) -> bool:
        return bool(self.decisions)

    @property
    def replanned(self) -> bool:
        """Every proposal that should be planned by now was: the first ones, and combinations of what was accepted."""
        proposed = [Proposed.of(d) for d in self.proposed]
        return self.decided and not next_singles(proposed, self.tried) and combination(proposed, self.tried) is None

    @property
    def tried(self) -> Tried:
        """What became of each policy that was planned: `dropped`, `kept`, or its verdict."""
        judged = {v["policy_id"]: v["outcome"] for v in self.verdicts}
        planned = {c["policy_id"]: "kept" if c["kept"] else "dropped" for c in self.candidates}
        return {policy: judged.get(policy, state) for policy, state in planned.items()}

    @property
    def proposed(self) -> Rows:
        return [d for d in self.decisions if d["kind"] == "proposal"]

    @property
    def unjudged(self) -> Rows:
        judged = {v["candidate_id"] for v in self.verdicts}
        return [c for c in self.candidates if c["kept"] and c["candidate_id"] not in judged]

    @property
    def promise(self) -> Promise:
        """What trying it is expected to gain and to cost."""
        return self.promise_of(self.decisions)

    def promise_of(self, decisions: Rows) -> Promise:
        """The same for decisions that are only foreseen; nothing once every candidate has its verdict."""
        if self.decided and self.replanned and not self.unjudged:
            return NO_PROMISE
        source = self.artifacts[0].get("statistics_source") if self.artifacts else None
        return promise(decisions, source)

    @property
    def best(self) -> dict[str, Any] | None:
        """The accepted verdict with the best proven gain: the one whose interval ends lowest."""
        return self._best(frozenset())

    @property
    def to_promote(self) -> dict[str, Any] | None:
        """The verdict that automation should put in force."""
        return self.promotable(by_hand=False)

    def promotable(self, *, by_hand: bool) -> dict[str, Any] | None:
        """The best verdict whose policy is not in force and was not taken back; none while a person's pin stands."""
        if self.active is not None and self.active.fixed:
            return None
        best = self._best(spent(self.chain, by_hand=by_hand))
        if best is None or (self.active is not None and self.active.policy.id == best["policy_id"]):
            return None
        return best

    def _best(self, gone: frozenset[str]) -> dict[str, Any] | None:
        accepted = [
            v for v in (*self.verdicts, *self.carried) if v["outcome"] == "accept" and v["verdict_id"] not in gone
        ]
        return min(accepted, key=lambda v: (v["gain_high"], v["policy_id"]), default=None)

    @property
    def settled(self) -> bool:
        """Nothing left to do for these inputs."""
        if self.mode == "observe":
            return self.observed and not self.failed
        done = self.replanned and not self.unjudged and not self.failed
        left = self.due is not None or self.unlinked or (self.mode == "auto" and self.to_promote is not None)
        return done and not left

    @property
    def outcome(self) -> str:
        if not self.observed:
            return "not_run"
        statuses = {a["status"] for a in self.artifacts}
        if "refused" in statuses:
            return "refused"
        if "failed" in statuses:
            return "cannot_tell"
        outcomes = {v["outcome"] for v in (*self.verdicts, *self.carried)}
        for outcome in ("accept", "inconclusive", "reject"):
            if outcome in outcomes:
                return outcome
        return "no_change" if self.settled else "not_run"

    @property
    def deciding(self) -> dict[str, Any] | None:
        """The verdict the outcome rests on."""
        return self.best or next((v for v in self.verdicts if v["outcome"] == self.outcome), None)

    @property
    def reason(self) -> str:
        if not self.observed:
            return "not run on these inputs yet"
        if not self.captured:
            return next(a["error"] for a in self.artifacts if a["status"] != "captured")
        if self.deciding:
            return str(self.deciding["reason"])
        if self.mode == "observe":
            return "the workload's mode is observe: planopt only looks"
        if not self.decided:
            return "observed, but not decided on yet"
        dropped = [c["reason"] for c in self.candidates if not c["kept"]]
        return dropped[0] if dropped else str(max(self.decisions, key=_promise)["reason"])

    @property
    def gain(self) -> Gain | None:
        row = self.deciding
        if row is None or row["gain_ratio"] is None:
            return None
        return Gain(row["gain_metric"], row["gain_ratio"], row["gain_low"], row["gain_high"], row["gain_confidence"])

    @property
    def policy(self) -> Policy:
        """What the outcome is about: the accepted or tried policy, or what is in force."""
        if self.deciding:
            return Policy.from_json(self.deciding["policy"])
        return self.active.policy if self.active else ORIGINAL

    def facts(self) -> dict[str, Any]:
        """One object per query, as `--json` prints it."""
        gain = self.gain
        return {
            "id": self.query_id,
            "outcome": self.outcome,
            "reason": self.reason,
            "results_equal": self.deciding["results_equal"] if self.deciding else None,
            "policy_id": self.policy.id,
            "policy": self.policy.facts(),
            "gain": asdict(gain) if gain else None,
            "active_policy": (self.active.policy if self.active else ORIGINAL).facts(),
            "active_policy_id": self.active.policy.id if self.active else ORIGINAL.id,
            "generation": self.active.generation if self.active else 0,
            "state": self.active.state if self.active else "original",
            "state_reason": self.active.reason if self.active else "",
            "due": self.due.reason if self.due else None,
            "policies": [p.facts() for p in self.policies],
            "promotion_id": self.active.id if self.active else None,
            "verdict_id": self.deciding["verdict_id"] if self.deciding else None,
            "carried_over": self.deciding in self.carried,
            "observation_ids": [a["observation_id"] for a in self.artifacts],
            "plan_fingerprints": [a["plan_fingerprint"] for a in self.artifacts],
            "topology_hashes": [a["topology_hash"] for a in self.artifacts],
            "decision_ids": [d["decision_id"] for d in self.decisions],
        }


def _promise(decision: Mapping[str, Any]) -> float:
    """How much a decision would have saved: the one nearest to a proposal explains best why there is none."""
    facts = json.loads(decision["arithmetic"])
    return float(facts.get("saving_wall_ns_per_run", facts.get("saving_cpu_ns_per_run", -1)))
