"""Active policies as a chain of generations: read and checked without Spark, written by compare-and-set."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planopt_assets.errors import ChainBroken, PromotionConflict, RowDamaged, StoreWriteFailed
from planopt_assets.model.promotion import GENESIS, Chain, Promotion
from planopt_assets.store import writer
from planopt_assets.store.codecs.deciding import PROMOTIONS
from planopt_assets.store.crash_points import reached
from planopt_assets.store.head_files import HeadUnreachable, HeadUnreadable
from planopt_assets.store.opened import unreached, unreadable
from planopt_assets.store.promotion_heads import note_promotion, read_promotion_heads

if TYPE_CHECKING:
    from planopt_assets.store.promotion_heads import PromotionHead
    from planopt_assets.store.snapshot import Snapshot

_TABLE = PROMOTIONS.table
REPAIR = (
    "run `planopt repair`: it writes again what the head of the query knows. Until then only this query stops, "
    "and runs as original"
)
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Chains:
    """The chain of each query that has a whole one, and what is wrong with the others."""

    whole: Mapping[str, Chain]
    broken: Mapping[str, ChainBroken]

    def of(self, query_id: str) -> Chain:
        if query_id in self.broken:
            raise self.broken[query_id]
        return self.whole.get(query_id, ())


def chains(snapshot: Snapshot, query_ids: Collection[str] | None = None) -> Chains:
    """All generations of each query, oldest first, each checked against the one before and the last by its head."""
    heads = _heads(snapshot, query_ids)
    rows = promotion_rows(snapshot, query_ids)
    whole: dict[str, Chain] = {}
    broken: dict[str, ChainBroken] = {}
    for query_id in dict.fromkeys([*rows, *heads]):
        try:
            chain = verified_chain(snapshot.workload, query_id, rows.get(query_id, []))
            _check_end(snapshot, query_id, chain, heads.get(query_id))
        except ChainBroken as error:
            lost = snapshot.lost(_TABLE)
            broken[query_id] = _broken(f"{error.what}; {snapshot.root}/{_TABLE}/{lost[0]} is lost") if lost else error
        else:
            whole[query_id] = chain
    return Chains(whole, broken)


def _heads(snapshot: Snapshot, query_ids: Collection[str] | None) -> dict[str, PromotionHead]:
    """Read once per snapshot, before its rows: a head that is written later knows more than they do."""

    def read() -> dict[str, PromotionHead]:
        try:
            return read_promotion_heads(snapshot.root, snapshot.workload)
        except HeadUnreachable as error:
            raise unreached(snapshot.root, _TABLE, error.why) from error
        except HeadUnreadable as error:
            raise unreadable(snapshot.root, _TABLE, str(error)) from error

    heads = snapshot.once("promotion heads", read)
    return heads if query_ids is None else {q: head for q, head in heads.items() if q in query_ids}


def verified_chain(workload: str, query_id: str, rows: Sequence[Row]) -> Chain:
    """The rows of one query as its chain. A row that does not follow from the one before is an error."""
    chain: list[Promotion] = []
    previous = GENESIS
    for number, row in enumerate(sorted(rows, key=_generation), start=1):
        try:
            promotion = PROMOTIONS.from_row({**row, "workload": workload})
        except RowDamaged as error:
            raise _broken(f"generation {number} of query {query_id!r} cannot be read: {error.what}") from error
        chain_hash = promotion.chain_hash
        if row["generation"] != number or row["previous_hash"] != previous or row["chain_hash"] != chain_hash:
            raise _broken(f"generation {row['generation']} of query {query_id!r} does not follow from the one before")
        chain.append(promotion)
        previous = chain_hash
    return tuple(chain)


def promotion_rows(snapshot: Snapshot, query_ids: Collection[str] | None = None) -> dict[str, list[Row]]:
    """The stored rows of each query. A row that cannot be decoded is left out: then its chain has a gap."""
    rows: dict[str, list[Row]] = {}
    found = snapshot.table(_TABLE, query_id=query_ids)
    for row in _decoded(found):
        rows.setdefault(row["query_id"], []).append(row)
    return rows


def _decoded(found: Any) -> list[Row]:
    try:
        rows: list[Row] = found.to_pylist()
    except ValueError:  # somewhere a text that is not UTF-8
        if found.num_rows < 2:
            return []
        return [row for place in range(found.num_rows) for row in _decoded(found.slice(place, 1))]
    return rows


def _generation(row: Row) -> int:
    return row["generation"] if isinstance(row["generation"], int) else 0


def _check_end(snapshot: Snapshot, query_id: str, chain: Chain, head: PromotionHead | None) -> None:
    """A shorter chain is a valid chain: only the head knows what came after it."""
    if head is None:
        if snapshot.lost(_TABLE):
            raise _broken(f"nobody knows whether query {query_id!r} lost rows: it has no head")
        return
    if why := head.objection(chain):
        raise _broken(f"{why}, by {head.file}")


def _broken(what: str) -> ChainBroken:
    return ChainBroken(what, where=f"table {_TABLE}", fix=REPAIR)


# Writing


def app_id(workload: str, query_id: str, epoch: int) -> str:
    """The application of a query's transactions.

    Delta remembers the last transaction of each application, also if its rows were restored away. What is written after
    such a restore belongs to the next epoch.

    >>> app_id("sales", "q", 0), app_id("sales", "q", 2)
    ('planopt:promote:sales:q', 'planopt:promote:sales:q:restored-2')
    """
    return f"planopt:promote:{workload}:{query_id}" + (f":restored-{epoch}" if epoch else "")


def commit(spark: writer.Spark, newest: Callable[[], Snapshot], promotion: Promotion, run_id: str) -> None:
    """Append the next generation, or fail because somebody else did.

    The Delta transaction id is the query and its version the generation, so of two writers of one generation
    exactly one commit exists; the other is told by Delta, or finds a foreign row when it looks. Without Spark, too.
    """
    workload, query_id = promotion.workload, promotion.query_id
    row = {**PROMOTIONS.to_row(promotion), **writer.common(workload, run_id)}
    conflict: StoreWriteFailed | None = None
    snapshot = newest()
    application = _application(snapshot, promotion)
    try:
        if application is not None:
            writer.write(spark, snapshot.root, _TABLE, [row], app_id=application, version=promotion.generation)
    except StoreWriteFailed as error:
        conflict = error
    rows = promotion_rows(newest(), [query_id]).get(query_id, [])
    stored = [(r["chain_hash"], r["run_id"]) for r in rows if r["generation"] == promotion.generation]
    if not stored and conflict is not None:
        raise conflict
    if stored != [(promotion.chain_hash, run_id)]:
        raise PromotionConflict(
            f"somebody else wrote generation {promotion.generation} of query {query_id!r} first",
            where=f"query {query_id}",
            fix="look at it with `planopt status`, then run again if the policy should still change",
        )
    reached("after_promotion_commit")
    _keep_head(snapshot, query_id, rows)


def _application(snapshot: Snapshot, promotion: Promotion) -> str | None:
    """The first epoch in which Delta does not remember this generation. None: the generation is stored already.

    Rows and transactions are of one version. So two writers of one generation find the same epoch.
    """
    workload, query_id = promotion.workload, promotion.query_id
    rows = promotion_rows(snapshot, [query_id]).get(query_id, [])
    if any(row["generation"] == promotion.generation for row in rows):
        return None
    epoch = 0
    while snapshot.transaction(_TABLE, app_id(workload, query_id, epoch)) >= promotion.generation:
        epoch += 1
    return app_id(workload, query_id, epoch)


def _keep_head(snapshot: Snapshot, query_id: str, rows: Sequence[Row]) -> None:
    """Remember the end of a whole chain. A broken one is left to `planopt repair`."""
    try:
        chain = verified_chain(snapshot.workload, query_id, rows)
    except ChainBroken:
        return
    note_promotion(snapshot.root, snapshot.workload, chain, sorted(rows, key=_generation))
