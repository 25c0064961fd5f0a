"""Stored rows and standings made by hand, each with only what it is about spelled out."""

from __future__ import annotations

import json
from typing import Any

from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.promotion import Promotion
from planopt_assets.promote.next_generation import GENESIS
from planopt_assets.store.standing import Standing

FEWER = Policy.of({"spark.sql.shuffle.partitions": "2"})
OTHER = Policy.of({"spark.sql.files.openCostInBytes": "65536"})

Row = dict[str, Any]


def artifact(status: str = "captured", **others: Any) -> Row:
    found = {"captured": None, "refused": "PLN-101 query q: `INSERT` writes", "failed": "PLN-207 query q: no space"}
    return {
        "query_id": "q",
        "observation_id": "obs-run-q-b0",
        "binding": 0,
        "status": status,
        "error": found[status],
        "plan_fingerprint": "pln_1",
        "topology_hash": "top_1",
        **others,
    }


def decision(kind: str = "proposal", policy: Policy = FEWER, **others: Any) -> Row:
    proposes = kind == "proposal"
    return {
        "query_id": "q",
        "decision_id": f"dec_{kind}",
        "kind": kind,
        "rule": "right_size_shuffle",
        "reason": "the largest shuffle is small" if proposes else f"the reason for {kind}",
        "policy_after": (policy if proposes else ORIGINAL).to_json(),
        "arithmetic": json.dumps({"saving_cpu_ns_per_run": 480_000_000} if proposes else {"shuffles": 0}),
        **others,
    }


def candidate(policy: Policy = FEWER, *, kept: bool = True, **others: Any) -> Row:
    return {
        "query_id": "q",
        "candidate_id": f"can_{policy.id[4:]}",
        "policy_id": policy.id,
        "policy": policy.to_json(),
        "kept": kept,
        "reason": "the plan changes" if kept else "dropped: plan and partitioning stay the same",
        "diff": "-Exchange hashpartitioning 200\n+Exchange hashpartitioning 2" if kept else "",
        **others,
    }


def verdict(policy: Policy = FEWER, outcome: str = "accept", **others: Any) -> Row:
    measured = outcome != "inconclusive"
    return {
        "query_id": "q",
        "verdict_id": f"ver-run-q-{policy.id[4:]}",
        "candidate_id": f"can_{policy.id[4:]}",
        "policy_id": policy.id,
        "policy": policy.to_json(),
        "outcome": outcome,
        "reason": f"the reason for {outcome}",
        "results_equal": True,
        "criteria": "[]",
        "gain_metric": "cpu" if measured else None,
        "gain_ratio": 0.7 if measured else None,
        "gain_low": 0.6 if measured else None,
        "gain_high": 0.8 if measured else None,
        "pairs": 9,
        "input_fingerprint": "inp_1",
        **others,
    }


def promotion(policy: Policy = FEWER, verdict_id: str = "ver-run-q-can_1", generation: int = 1) -> Promotion:
    return Promotion(
        "demo", "q", generation, policy, "accepted", "cpu -30%", verdict_id, "can_1", "inp_1", previous_hash=GENESIS
    )


def standing(
    artifacts: list[Row] | None = None,
    decisions: list[Row] | None = None,
    candidates: list[Row] | None = None,
    verdicts: list[Row] | None = None,
    **others: Any,
) -> Standing:
    """A query that was observed, and of which nothing else is known unless told."""
    known = {"query_id": "q", "query_fingerprint": "qry_1", "input_fingerprint": "inp_1", "mode": "advise"}
    return Standing(
        **{
            **known,
            "artifacts": [artifact()] if artifacts is None else artifacts,
            "decisions": decisions or [],
            "candidates": candidates or [],
            "verdicts": verdicts or [],
            "active": None,
            **others,
        }
    )
