"""Policies in force without a loop: chains of promotions written into a store by hand, without Spark."""

from __future__ import annotations

import uuid
from dataclasses import asdict
from typing import Any

from planopt_assets.model.conditions import Conditions
from planopt_assets.model.policy import Policy
from planopt_assets.model.promotion import GENESIS, Promotion
from planopt_assets.store.codecs.forms import dumped
from planopt_assets.store.schemas import TABLES
from planopt_assets.store.writer import append
from planopt_tests.no_spark import no_spark

UNCONDITIONAL = Conditions()
"""Evidence that holds anywhere: nothing is known of where it was found, so nothing is compared."""


def chain(
    query_id: str,
    *policies: Policy,
    workload: str = "tests",
    state: Any = "accepted",
    conditions: Conditions | None = UNCONDITIONAL,
) -> list[Promotion]:
    """Generations 1, 2, … of a query, each following from the one before; the last one has the state."""
    made: list[Promotion] = []
    for generation, policy in enumerate(policies, start=1):
        made.append(
            Promotion(
                workload=workload,
                query_id=query_id,
                generation=generation,
                policy=policy,
                state=state if generation == len(policies) else "accepted",
                reason=f"the reason for generation {generation}",
                verdict_id=f"ver-run-{query_id}-{generation}",
                candidate_id=f"can_{generation}",
                input_fingerprint="inp_1",
                previous_hash=made[-1].chain_hash if made else GENESIS,
                conditions=None if state == "fixed" else conditions,
            )
        )
    return made


def promotion_row(promotion: Promotion, **changes: Any) -> dict[str, Any]:
    known = {name: value for name, value in asdict(promotion).items() if name in TABLES["active_policies"].names}
    own = {
        "promotion_id": promotion.id,
        "policy_id": promotion.policy.id,
        "policy": promotion.policy.to_json(),
        "conditions": None if promotion.conditions is None else dumped(promotion.conditions.facts()),
        "chain_hash": promotion.chain_hash,
    }
    return {**known, **own, **changes}


def promote_by_hand(store: str, *promotions: Promotion, **changes: Any) -> None:
    """Store a chain; `changes` falsify its last row."""
    rows = [promotion_row(p) for p in promotions[:-1]] + [promotion_row(promotions[-1], **changes)]
    append(
        no_spark,
        store,
        workload=promotions[0].workload,
        run_id=f"by-hand-{uuid.uuid4().hex}",  # a run is stored once
        stage="promote",
        rows={"active_policies": rows},
    )
