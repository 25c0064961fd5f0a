"""Generations of a generated query's policy, and the user's own runs under it."""

from __future__ import annotations

from benchmarks.store_scale.decisions import Judged
from benchmarks.store_scale.executions import counters_row
from benchmarks.store_scale.experiments import GAINS
from benchmarks.store_scale.nights import Night, Row, edges
from benchmarks.store_scale.queries import Spec
from planopt_assets.model.conditions import Circumstances
from planopt_assets.model.promotion import GENESIS, Promotion
from planopt_assets.promote.dependence import conditions_of
from planopt_assets.store.codecs.forms import dumped


def promote_rows(query: Spec, night: Night, by: Judged) -> dict[str, list[Row]]:
    """The first generation: nothing else ever came of a query's trials."""
    promoted = Promotion(
        workload=night.workload.name,
        query_id=query.id,
        generation=1,
        policy=query.policy,
        state="accepted",
        reason=GAINS[query.fate].describe(),
        verdict_id=by.verdict_id,
        candidate_id=by.candidate_id,
        input_fingerprint=by.input_fingerprint,
        previous_hash=GENESIS,
        conditions=conditions_of(query.policy, Circumstances(cores=2), ()),
    )
    assert promoted.conditions is not None
    row = {
        "query_id": query.id,
        "promotion_id": promoted.id,
        "policy_id": promoted.policy.id,
        "policy": promoted.policy.to_json(),
        **{name: getattr(promoted, name) for name in ("generation", "state", "reason", "verdict_id", "candidate_id")},
        **{name: getattr(promoted, name) for name in ("input_fingerprint", "previous_hash", "chain_hash")},
        "evidence_ids": [],
        "conditions": dumped(promoted.conditions.facts()),
    }
    lineage = edges(query.id, "promote", promoted.id, [by.verdict_id, by.candidate_id])
    return {"active_policies": [row], "lineage": lineage}


def production_rows(query: Spec, night: Night) -> dict[str, list[Row]]:
    """One run of the user's job on the day after, under the policy in force."""
    execution = night.event_id("exe", query.id, "0")
    counted = counters_row(query, night, execution, "production", query.policy.id, GAINS[query.fate].ratio)
    return {
        "runtime_counters": [{**counted, "action": "frame", "status": "ok"}],
        "lineage": edges(query.id, "production", execution, [f"pro-{query.id}-g1"]),
    }
