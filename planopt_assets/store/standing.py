"""Where every query stands: what the store knows about it for the inputs as they are now. Never starts Spark.

Each stage asks this first and does only what is missing. That is why an unchanged query costs nothing, and why a
killed run goes on where it stopped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planopt_assets.errors import TableUnreadable
from planopt_assets.model.inputs import input_fingerprint, query_fingerprint
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.verdict import Gain
from planopt_assets.store.contract import contract
from planopt_assets.store.promotions import newest, verified_chain

if TYPE_CHECKING:
    from planopt_assets.engine.tables import Pins
    from planopt_assets.model.promotion import Promotion
    from planopt_assets.model.workload import Query, Workload
    from planopt_assets.store.reader import StoreReader

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Standing:
    """One query: its current inputs and every stored row that was made from exactly these inputs."""

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
        return bool(self.candidates) or (self.decided and not self.proposed)

    @property
    def proposed(self) -> Rows:
        return [d for d in self.decisions if d["kind"] == "proposal"]

    @property
    def unjudged(self) -> Rows:
        judged = {v["candidate_id"] for v in self.verdicts}
        return [c for c in self.candidates if c["kept"] and c["candidate_id"] not in judged]

    @property
    def best(self) -> dict[str, Any] | None:
        """The accepted verdict with the best proven gain: the one whose interval ends lowest."""
        accepted = [v for v in self.verdicts if v["outcome"] == "accept"]
        return min(accepted, key=lambda v: (v["gain_high"], v["policy_id"]), default=None)

    @property
    def to_promote(self) -> dict[str, Any] | None:
        """The verdict that should be in force and is not."""
        best = self.best
        if best is None or (self.active is not None and self.active.policy.id == best["policy_id"]):
            return None
        return best

    @property
    def settled(self) -> bool:
        """Nothing left to do for these inputs."""
        if self.mode == "observe":
            return self.captured
        done = self.replanned and not self.unjudged and not self.failed
        return done and not (self.mode == "auto" and self.to_promote is not None)

    @property
    def outcome(self) -> str:
        if not self.observed:
            return "not_run"
        statuses = {a["status"] for a in self.artifacts}
        if "refused" in statuses:
            return "refused"
        if "failed" in statuses:
            return "cannot_tell"
        outcomes = {v["outcome"] for v in self.verdicts}
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
        return Gain(row["gain_metric"], row["gain_ratio"], row["gain_low"], row["gain_high"])

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
            "policy": dict(self.policy.settings),
            "gain": {"metric": gain.metric, "ratio": gain.ratio, "low": gain.low, "high": gain.high} if gain else None,
            "active_policy": dict(self.active.policy.settings) if self.active else {},
            "active_policy_id": self.active.policy.id if self.active else ORIGINAL.id,
            "generation": self.active.generation if self.active else 0,
            "promotion_id": self.active.id if self.active else None,
            "verdict_id": self.deciding["verdict_id"] if self.deciding else None,
            "observation_ids": [a["observation_id"] for a in self.artifacts],
            "plan_fingerprints": [a["plan_fingerprint"] for a in self.artifacts],
            "topology_hashes": [a["topology_hash"] for a in self.artifacts],
            "decision_ids": [d["decision_id"] for d in self.decisions],
        }


def standings(workload: Workload, reader: StoreReader, sources: Mapping[str, str], pins: Pins) -> dict[str, Standing]:
    """Every query of the workload; `sources` holds the text that defines each (SQL, or a module's source)."""
    by_query = {
        name: _by_query(reader.rows(name))
        for name in ("plan_artifacts", "policy_decisions", "candidate_plans", "verdicts")
    }
    promotions = _by_query(reader.rows("active_policies"))
    found = {}
    for query in workload.queries:
        rows = {name: groups.get(query.id, []) for name, groups in by_query.items()}
        fingerprint = query_fingerprint(query, sources[query.id])
        known = [a for a in rows["plan_artifacts"] if a["query_fingerprint"] == fingerprint]
        inputs = _current_inputs(workload, query, sources[query.id], known, pins)
        # The last run that saw these inputs speaks; an older one of the same inputs may have been cut short.
        artifacts = _last_run([a for a in known if a["input_fingerprint"] == inputs])
        active = newest(verified_chain(workload.name, query.id, promotions.get(query.id, [])))
        found[query.id] = Standing(
            query_id=query.id,
            query_fingerprint=fingerprint,
            input_fingerprint=inputs,
            mode=workload.mode,
            artifacts=artifacts,
            decisions=_last_run([d for d in rows["policy_decisions"] if d["input_fingerprint"] == inputs]),
            candidates=_last_run([c for c in rows["candidate_plans"] if c["input_fingerprint"] == inputs]),
            verdicts=_last_run([v for v in rows["verdicts"] if v["input_fingerprint"] == inputs]),
            active=active,
            promoted_by=next((v for v in rows["verdicts"] if active and v["verdict_id"] == active.verdict_id), None),
        )
    return found


def _current_inputs(workload: Workload, query: Query, source: str, known: Rows, pins: Pins) -> str | None:
    """The fingerprint of the tables this query read last time, as they are now."""
    if not known:
        return None
    declared = {t.name: t.path for t in workload.tables}
    try:
        read = [pins.pin(t["name"], declared.get(t["name"]) or t["location"]) for t in json.loads(known[-1]["tables"])]
    except TableUnreadable:
        return None  # it was there before: looking again will say what is wrong with it
    captured = known[-1]["status"] == "captured"
    return input_fingerprint(workload, query, source, tuple(read), contract(workload.master), captured=captured)


def _promise(decision: Mapping[str, Any]) -> float:
    """How much a decision would have saved: the one nearest to a proposal explains best why there is none."""
    return float(json.loads(decision["arithmetic"]).get("saving_cpu_ns_per_run", -1))


def _by_query(rows: Rows) -> dict[str, Rows]:
    groups: dict[str, Rows] = {}
    for row in rows:
        groups.setdefault(row["query_id"], []).append(row)
    return groups


def _last_run(rows: Sequence[dict[str, Any]]) -> Rows:
    return [r for r in rows if r["run_id"] == rows[-1]["run_id"]]
