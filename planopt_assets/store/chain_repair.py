"""Mends the chains of promotions: rows that are lost or were changed are written again from the head of the query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planopt_assets.errors import ChainBroken, PlanoptError, RowDamaged
from planopt_assets.promote.salvaged_chain import End, closed, is_whole, linked
from planopt_assets.store import writer
from planopt_assets.store.codecs.deciding import PROMOTIONS, VERDICTS
from planopt_assets.store.head_files import FOLDER, HeadUnreadable
from planopt_assets.store.promotion_heads import read_promotion_heads, write_promotion_head
from planopt_assets.store.promotions import verified_chain
from planopt_assets.store.snapshot import Snapshot
from planopt_assets.store.tried import linked_generations

if TYPE_CHECKING:
    from planopt_assets.model.promotion import Chain, Promotion
    from planopt_assets.store.promotion_heads import PromotionHead

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Mended:
    """The chain of one query as it should be stored."""

    workload: str
    query_id: str
    chain: Chain
    rows: Sequence[Row]
    head: PromotionHead | None
    damaged_head: bool = False
    restored: int = 0  # generations written again from the head
    dropped: int = 0  # rows of the table that are not what was written
    is_closed: bool = False  # what was decided last is not known: pinned to original

    @property
    def rewritten(self) -> bool:
        return bool(self.restored or self.dropped or self.is_closed)

    @property
    def needed(self) -> bool:
        return self.rewritten or self.damaged_head

    @property
    def what(self) -> str:
        said = [f"{self.restored} generations written again from its head"] if self.restored else []
        said += [f"{self.dropped} rows taken out that do not chain"] if self.dropped else []
        said += ["its head written again from the table"] if self.damaged_head and not self.is_closed else []
        if self.is_closed:
            said.append("what was decided last is lost: it is pinned to original until a person decides")
        return "; ".join(said)

    def facts(self) -> dict[str, Any]:
        return {
            "workload": self.workload,
            "query": self.query_id,
            "what": self.what,
            "restored": self.restored,
            "dropped": self.dropped,
            "pinned_to_original": self.is_closed,
            "in_force": self.chain[-1].describe() if self.chain else "original",
        }


def mended_chains(root: str, rows: Iterable[Row], run_id: str, *, rows_are_lost: bool) -> list[Mended]:
    """The chain of every query of every workload, from the rows that are left and from the heads."""
    left: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        left.setdefault(row["workload"] or "", {}).setdefault(row["query_id"] or "", []).append(row)
    heads = Path(root, FOLDER, "queries")
    return [
        mended
        for workload in sorted({*left, *(p.name for p in heads.glob("*") if p.is_dir())})
        for mended in _of_workload(root, workload, left.get(workload, {}), run_id, rows_are_lost=rows_are_lost)
    ]


def _of_workload(
    root: str, workload: str, left: Mapping[str, Sequence[Row]], run_id: str, *, rows_are_lost: bool
) -> list[Mended]:
    heads = read_promotion_heads(root, workload)
    snapshot = Snapshot(root, workload)
    seen = _seen(snapshot)
    found = []
    for query_id in sorted({*left, *heads, *seen}):
        head, stored = heads.get(query_id), left.get(query_id, ())
        ends = [End(seen.get(query_id, 0))] + ([End(head.generation, head.chain_hash)] if head else [])
        one = _mended(workload, query_id, stored, head, ends, rows_are_lost=rows_are_lost)
        found.append(_closed(one, snapshot, run_id) if one.is_closed else one)
    return found


def _mended(
    workload: str,
    query_id: str,
    stored: Sequence[Row],
    head: PromotionHead | None,
    ends: Sequence[End],
    *,
    rows_are_lost: bool,
) -> Mended:
    in_head = _rows_of(head, workload)
    in_table = dict(_valid(workload, stored))
    known = dict(_valid(workload, in_head or [])) | in_table
    chain = linked(known, linked(_valid_only(workload, in_head or [])))
    used = [p for p in chain if p in in_table]
    dropped = len(stored) - len(used)
    certain = is_whole(chain, ends) and (head is not None or not (rows_are_lost or dropped))
    return Mended(
        workload,
        query_id,
        chain,
        [known[p] for p in chain],
        head,
        damaged_head=head is not None and in_head is None,
        restored=len(chain) - len(used),
        dropped=dropped,
        is_closed=not certain,
    )


def _closed(one: Mended, snapshot: Snapshot, run_id: str) -> Mended:
    chain = closed(one.workload, one.query_id, one.chain, _accepted(snapshot, one.query_id))
    last = {**PROMOTIONS.to_row(chain[-1]), **writer.common(one.workload, run_id)}
    return Mended(
        one.workload,
        one.query_id,
        chain,
        [*one.rows, last],
        one.head,
        one.damaged_head,
        one.restored,
        one.dropped,
        is_closed=True,
    )


def write_heads(root: str, mended: Iterable[Mended], aside: Path) -> None:
    """The heads of chains that were mended. One that is damaged, or knows what nobody else does, moves aside."""
    for one in mended:
        if one.head is not None and (one.damaged_head or one.is_closed):
            to = aside / FOLDER / "queries" / one.workload / one.head.file.name
            to.parent.mkdir(parents=True, exist_ok=True)
            Path(str(one.head.file)).rename(to)
        if one.chain:
            write_promotion_head(root, one.workload, one.chain, one.rows)


def _rows_of(head: PromotionHead | None, workload: str) -> list[Row] | None:
    """The rows of a head. None: there is no head, or it is not what was written."""
    if head is None:
        return None
    try:
        rows = head.rows()
        chain = verified_chain(workload, head.query_id, rows)
    except (HeadUnreadable, ChainBroken, LookupError, TypeError, ValueError):
        return None
    return None if head.objection(chain) else list(rows)


def _valid(workload: str, rows: Iterable[Row]) -> Iterable[tuple[Promotion, Row]]:
    """The rows that are what was written, by themselves: their hash fits."""
    for row in rows:
        try:
            promotion = PROMOTIONS.from_row({**row, "workload": workload})
            if promotion.chain_hash == row["chain_hash"]:
                yield promotion, row
        except RowDamaged:
            continue  # it is kept aside


def _valid_only(workload: str, rows: Iterable[Row]) -> list[Promotion]:
    return [promotion for promotion, _ in _valid(workload, rows)]


def _seen(snapshot: Snapshot) -> dict[str, int]:
    try:
        return linked_generations(snapshot)
    except PlanoptError:  # damaged too, and not yet repaired: this is a dry run
        return {}


def _accepted(snapshot: Snapshot, query_id: str) -> list[str]:
    try:
        return [v.id for v in snapshot.read(VERDICTS, query_id=query_id) if v.accepted]
    except PlanoptError:  # as above
        return []
