"""A candidate of a generated query, its trials against the baseline, and the verdict."""

from __future__ import annotations

import json
from dataclasses import asdict

from benchmarks.store_scale.decisions import Judged
from benchmarks.store_scale.executions import counters_row, digest_json, table_bytes
from benchmarks.store_scale.nights import Night, Row, edges
from benchmarks.store_scale.observed import Inputs, Known
from benchmarks.store_scale.queries import Fate
from planopt_assets.loop.versions import contract
from planopt_assets.model.candidate import Candidate
from planopt_assets.model.decision import Decision
from planopt_assets.model.ids import content_id
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.verdict import Criterion, Gain

PAIRS = 3
GAINS: dict[Fate, Gain] = {
    "accept": Gain("cpu", 0.65, 0.61, 0.70, 0.95),
    "reject": Gain("cpu", 1.0, 0.98, 1.02, 0.95),
    "inconclusive": Gain("cpu", 0.97, 0.90, 1.05, 0.99),
}
_WORDS: dict[Fate, str] = {
    "accept": "",
    "reject": "no gain of 3% or more: ",
    "inconclusive": "noise hides the gain: ",
}
_GUARDS = ("scan_bytes", "shuffle_write_bytes", "disk_spill_bytes", "memory_spill_bytes", "tasks", "task_memory_bytes")
_CLOCKS = ("failed_tasks", "wall_ns", "gc_ns", "work_ns", "baseline_noise", "pairs_agree")


def candidate(known: Known, inputs: Inputs, proposal: Decision) -> Candidate:
    query, (name, value) = known.query, known.query.policy.settings[0]
    resized = [
        (shuffle.replace("200", value), shuffle)
        for shuffle in ("Exchange rangepartitioning 200", "Exchange hashpartitioning 200")
    ]
    return Candidate(
        query.id,
        query.policy,
        (proposal.id,),
        kept=True,
        reason="the plan changes",
        diff="\n".join(f"-  {before}\n+  {after}" for after, before in resized),
        plan_fingerprint=content_id("pln", [query.sql, value]),
        topology_hash=content_id("top", [query.sql, value]),
        input_fingerprint=inputs.fingerprint,
        took_effect=(name,),
    )


def replan_rows(tried: Candidate) -> dict[str, list[Row]]:
    row = {
        "query_id": tried.query_id,
        "candidate_id": tried.id,
        "policy_id": tried.policy.id,
        "policy": tried.policy.to_json(),
        **{name: getattr(tried, name) for name in ("kept", "reason", "diff", "plan_fingerprint", "topology_hash")},
        "decision_ids": list(tried.decision_ids),
        "input_fingerprint": tried.input_fingerprint,
        "took_effect": list(tried.took_effect),
    }
    return {"lineage": edges(tried.query_id, "replan", tried.id, tried.decision_ids), "candidate_plans": [row]}


def judged(tried: Candidate, night: Night) -> Judged:
    verdict_id = night.event_id("ver", tried.query_id, tried.id)
    return Judged(verdict_id, tried, night.number)


def validate_rows(
    known: Known, inputs: Inputs, night: Night, tried: Candidate, *, purpose: str | None = None
) -> dict[str, list[Row]]:
    """A warm-up, then both arms in every round."""
    query, speed = known.query, GAINS[known.query.fate].ratio
    arms = [(0, tried.policy, speed)]
    arms += [(n, p, s) for n in range(1, PAIRS + 1) for p, s in ((ORIGINAL, 1.0), (tried.policy, speed))]
    rows: dict[str, list[Row]] = {"runtime_counters": [], "trials": [], "lineage": []}
    digest = digest_json(query, night)
    for place, (number, policy, factor) in enumerate(arms):
        trial = night.event_id("tri", query.id, policy.id.removeprefix("pol_")[:8], f"r{number}", "b0")
        rows["runtime_counters"].append(counters_row(query, night, trial, "trial", policy.id, factor))
        rows["trials"].append(
            {
                "query_id": query.id,
                "trial_id": trial,
                "policy_id": policy.id,
                "seed": night.workload.seed,
                "round": number,
                "position": (place + 1) % 2,
                "binding": 0,
                "warm_up": number == 0,
                "status": "ok",
                "error": "",
                "digest": digest,
                "input_fingerprint": inputs.fingerprint,
                "topology_hash": known.topology_hash if policy == ORIGINAL else tried.topology_hash,
            }
        )
        rows["lineage"] += edges(query.id, "validate", trial, [night.observation_id(query.id)])
    trials = [t["trial_id"] for t in rows["trials"]]
    rows["lineage"] += edges(query.id, "validate", judged(tried, night).verdict_id, [tried.id, *trials])
    return {**rows, "verdicts": [{**_verdict(known, inputs, night, tried, trials), "purpose": purpose}]}


def _verdict(known: Known, inputs: Inputs, night: Night, tried: Candidate, trials: list[str]) -> Row:
    fate = known.query.fate
    gain = GAINS[fate]
    return {
        "query_id": tried.query_id,
        "verdict_id": judged(tried, night).verdict_id,
        "candidate_id": tried.id,
        "policy_id": tried.policy.id,
        "policy": tried.policy.to_json(),
        "outcome": fate,
        "reason": f"{_WORDS[fate]}{gain.describe()}",
        "results_equal": True,
        "criteria": json.dumps([asdict(c) for c in _criteria(gain, accepted=fate == "accept")]),
        **{f"gain_{name}": value for name, value in asdict(gain).items()},
        "pairs": PAIRS,
        "seed": night.workload.seed,
        "judge_version": contract(night.workload.master)["judge"],
        "trial_ids": trials,
        "input_fingerprint": inputs.fingerprint,
        "canonical_fingerprint": known.canonical,
        "context_hash": inputs.context,
        "input_bytes": table_bytes(known.query, night.number),
        "executions": len(trials),
    }


def _criteria(gain: Gain, *, accepted: bool) -> list[Criterion]:
    """Every guard holds; the objective alone decides."""
    guards = [
        Criterion(name, True, 32_712_581.0, 32_712_581.0, "at most 1.1 x baseline + 1,048,576", "the same for both")
        for name in (*_GUARDS, *_CLOCKS)
    ]
    equal = Criterion("results_equal", True, None, None, "whole results, floating point within 1e-9")
    objective = Criterion(
        "objective:cpu", accepted, 1.6e9, 1.6e9 * gain.ratio, "interval of the ratio below 1", gain.as_ratio()
    )
    return [equal, *guards, objective]
