"""The next link of a query's promotion chain; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planopt_assets.errors import PromotionRefused
from planopt_assets.model.policy import Policy
from planopt_assets.model.promotion import Promotion

GENESIS = "chn_genesis"


def next_generation(workload: str, active: Promotion | None, verdict: Mapping[str, Any]) -> Promotion:
    """Generation n + 1 from an accepted verdict; any other verdict is refused, whoever asks."""
    if verdict["outcome"] != "accept" or verdict["results_equal"] is not True:
        raise PromotionRefused(
            f"verdict {verdict['verdict_id']} says {verdict['outcome']}",
            where=f"query {verdict['query_id']}",
            fix="only a verdict `accept` with equal results can be promoted",
        )
    return Promotion(
        workload=workload,
        query_id=verdict["query_id"],
        generation=active.generation + 1 if active else 1,
        policy=Policy.from_json(verdict["policy"]),
        state="accepted",
        reason=verdict["reason"],
        verdict_id=verdict["verdict_id"],
        candidate_id=verdict["candidate_id"],
        input_fingerprint=verdict["input_fingerprint"],
        previous_hash=active.chain_hash if active else GENESIS,
    )
