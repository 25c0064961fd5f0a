"""Active policies as a chain of generations: read and checked without Spark, written by compare-and-set."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planopt_assets.errors import ChainBroken, PromotionConflict, StoreWriteFailed
from planopt_assets.model.promotion import GENESIS, Chain, Promotion
from planopt_assets.store import writer
from planopt_assets.store.codecs.deciding import PROMOTIONS
from planopt_assets.store.crash_points import reached

if TYPE_CHECKING:
    from planopt_assets.store.snapshot import Snapshot

_TABLE = PROMOTIONS.table


def chains(snapshot: Snapshot, query_ids: Collection[str] | None = None) -> dict[str, Chain]:
    """All generations of each query, oldest first, each checked against the one before."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in snapshot.table(_TABLE, query_id=query_ids).to_pylist():
        rows.setdefault(row["query_id"], []).append(row)
    return {query_id: verified_chain(snapshot.workload, query_id, found) for query_id, found in rows.items()}


def verified_chain(workload: str, query_id: str, rows: Sequence[Mapping[str, Any]]) -> Chain:
    """The rows of one query as its chain; a row that does not follow from the one before is an error."""
    chain: list[Promotion] = []
    previous = GENESIS
    made = [(PROMOTIONS.from_row({**row, "workload": workload}), row) for row in rows]  # a damaged row is an error
    for number, (promotion, row) in enumerate(sorted(made, key=lambda one: one[0].generation), start=1):
        if row["generation"] != number or row["previous_hash"] != previous or row["chain_hash"] != promotion.chain_hash:
            raise ChainBroken(
                f"generation {row['generation']} of query {query_id!r} does not follow from the one before",
                where=_TABLE,
                fix="restore the table (Delta time travel) to the version before it was edited by hand",
            )
        chain.append(promotion)
        previous = promotion.chain_hash
    return tuple(chain)


def commit(spark: writer.Spark, newest: Callable[[], Snapshot], promotion: Promotion, run_id: str) -> None:
    """Append the next generation, or fail because somebody else did.

    The Delta transaction id is the query and its version the generation, so of two writers of one generation
    exactly one commit exists; the other is told by Delta, or finds a foreign row when it looks. Without Spark, too.
    """
    app_id = f"planopt:promote:{promotion.workload}:{promotion.query_id}"
    row = {**PROMOTIONS.to_row(promotion), **writer.common(promotion.workload, run_id)}
    conflict: StoreWriteFailed | None = None
    snapshot = newest()
    try:
        writer.write(spark, snapshot.root, _TABLE, [row], app_id=app_id, version=promotion.generation)
    except StoreWriteFailed as error:
        conflict = error
    stored = [
        (r["chain_hash"], r["run_id"])
        for r in newest().table(_TABLE, query_id=promotion.query_id).to_pylist()
        if r["generation"] == promotion.generation
    ]
    if not stored and conflict is not None:
        raise conflict
    if stored != [(promotion.chain_hash, run_id)]:
        raise PromotionConflict(
            f"somebody else wrote generation {promotion.generation} of query {promotion.query_id!r} first",
            where=f"query {promotion.query_id}",
            fix="look at it with `planopt status`, then run again if the policy should still change",
        )
    reached("after_promotion_commit")
