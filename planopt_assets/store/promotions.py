"""Active policies as a chain of generations: read and checked without Spark, written by compare-and-set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planopt_assets.errors import ChainBroken, PromotionConflict
from planopt_assets.model.policy import Policy
from planopt_assets.model.promotion import GENESIS, Chain, Promotion
from planopt_assets.store.crash_points import reached
from planopt_assets.store.lineage import edges
from planopt_assets.store.reader import StoreReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt_assets.store.writer import Spark


def verified_chain(workload: str, query_id: str, rows: Sequence[dict[str, Any]]) -> Chain:
    """All generations of a query, oldest first, each checked against the one before."""
    chain: list[Promotion] = []
    previous = GENESIS
    for number, row in enumerate(sorted(rows, key=lambda r: r["generation"]), start=1):
        promotion = _promotion(workload, row)
        if row["generation"] != number or row["previous_hash"] != previous or row["chain_hash"] != promotion.chain_hash:
            raise ChainBroken(
                f"generation {row['generation']} of query {query_id!r} does not follow from the one before",
                where="active_policies",
                fix="restore the table (Delta time travel) to the version before it was edited by hand",
            )
        chain.append(promotion)
        previous = promotion.chain_hash
    return tuple(chain)


def newest(chain: Chain) -> Promotion | None:
    return chain[-1] if chain else None


def promotion_edges(promotion: Promotion) -> list[dict[str, Any]]:
    """What a generation came from: its verdict and candidate, the generation it went back to, what made it go back.

    All of it is in the row, so edges lost in a crash can be made again. A pin came from nothing but its policy.
    """
    restored = [f"pro-{promotion.query_id}-g{promotion.restores}"] if promotion.restores else []
    parents = [p for p in (promotion.verdict_id, promotion.candidate_id) if p] + restored + [*promotion.evidence_ids]
    return edges(promotion.query_id, "promote", promotion.id, parents or [promotion.policy.id])


def commit(spark: Spark, reader: StoreReader, promotion: Promotion, run_id: str) -> None:
    """Append the next generation, or fail because somebody else did.

    The Delta transaction id is the query and its version the generation, so of two writers of one generation
    exactly one commit exists; the other is told by Delta, or finds a foreign row when it looks. Without Spark, too.
    """
    from datetime import UTC, datetime

    from planopt_assets.errors import StoreWriteFailed
    from planopt_assets.store.schemas import SCHEMA_VERSION
    from planopt_assets.store.writer import write

    row = {
        "schema_version": SCHEMA_VERSION,
        "workload": promotion.workload,
        "query_id": promotion.query_id,
        "run_id": run_id,
        "recorded_at": datetime.now(UTC),
        "promotion_id": promotion.id,
        "generation": promotion.generation,
        "policy_id": promotion.policy.id,
        "policy": promotion.policy.to_json(),
        "state": promotion.state,
        "reason": promotion.reason,
        "verdict_id": promotion.verdict_id,
        "candidate_id": promotion.candidate_id,
        "input_fingerprint": promotion.input_fingerprint,
        "previous_hash": promotion.previous_hash,
        "chain_hash": promotion.chain_hash,
        "restores": promotion.restores,
        "who": promotion.who,
        "evidence_ids": list(promotion.evidence_ids),
    }
    app_id = f"planopt:promote:{promotion.workload}:{promotion.query_id}"
    conflict: StoreWriteFailed | None = None
    try:
        write(spark, reader.root, "active_policies", [row], app_id=app_id, version=promotion.generation)
    except StoreWriteFailed as error:
        conflict = error
    stored = [
        r
        for r in reader.rows("active_policies", query_id=promotion.query_id)
        if r["generation"] == promotion.generation
    ]
    if not stored and conflict is not None:
        raise conflict
    if [(r["chain_hash"], r["run_id"]) for r in stored] != [(promotion.chain_hash, run_id)]:
        raise PromotionConflict(
            f"somebody else wrote generation {promotion.generation} of query {promotion.query_id!r} first",
            where=f"query {promotion.query_id}",
            fix="look at it with `planopt status`, then run again if the policy should still change",
        )
    reached("after_promotion_commit")


def _promotion(workload: str, row: dict[str, Any]) -> Promotion:
    return Promotion(
        workload=workload,
        query_id=row["query_id"],
        generation=row["generation"],
        policy=Policy.from_json(row["policy"]),
        state=row["state"],
        reason=row["reason"],
        verdict_id=row["verdict_id"],
        candidate_id=row["candidate_id"],
        input_fingerprint=row["input_fingerprint"],
        previous_hash=row["previous_hash"],
        restores=row["restores"],
        who=row["who"],
        evidence_ids=tuple(row["evidence_ids"] or ()),
    )
