"""The head of a query's chain: which generation was last, and all rows of the chain once more.

`active_policies` may lose rows, and a shorter chain is a valid chain. With its head it is not: what a person pinned or
rolled back stays known, and `planopt repair` writes the lost rows again, each with the hash it always had.

The end of the chain is in the file's name, so one listing tells the ends of all chains, whatever became of the content.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from planopt_assets.delta.place import place
from planopt_assets.store.head_files import FOLDER, LOG, HeadFile, HeadUnreadable

if TYPE_CHECKING:
    from planopt_assets.model.promotion import Chain

Row = Mapping[str, Any]
_NAME = re.compile(r"(?P<query>.+)\.(?P<generation>\d+)\.(?P<hash>chn_[0-9a-f]+)\.json")


@dataclass(frozen=True, slots=True)
class PromotionHead:
    """The end of a chain as it was last written."""

    query_id: str
    generation: int
    chain_hash: str
    file: HeadFile

    def objection(self, chain: Chain) -> str:
        """Why this chain cannot be what was written; empty where it may be. A longer one may."""
        if len(chain) < self.generation:
            lost = f"generation {self.generation}{self._who()} of query {self.query_id!r} is lost"
            return f"{lost}: the table {f'ends with generation {len(chain)}' if chain else 'has none'}"
        if chain[self.generation - 1].chain_hash != self.chain_hash:
            return f"generation {self.generation} of query {self.query_id!r} is not the one that was written"
        return ""

    def rows(self) -> list[dict[str, Any]]:
        """The whole chain, oldest generation first. An unreadable head is an error."""
        content = self.file.read()
        if content is None:
            raise HeadUnreadable(self.file, "is gone")
        # JSON knows no times: this column is one.
        return [{**row, "recorded_at": datetime.fromisoformat(row["recorded_at"])} for row in content["rows"]]

    def _who(self) -> str:
        try:
            last = self.rows()[-1]
        except HeadUnreadable:
            return ""
        return f" ({last['state']} by {last['who']})" if last.get("who") else f" ({last['state']})"


def read_promotion_heads(
    root: str, workload: str, query_ids: Collection[str] | None = None
) -> dict[str, PromotionHead]:
    """The heads of these queries, or of all. Where a process ended while it replaced one, the later counts."""
    found: dict[str, PromotionHead] = {}
    for head in _heads(root, workload):
        known = found.get(head.query_id)
        if (query_ids is None or head.query_id in query_ids) and (known is None or known.generation < head.generation):
            found[head.query_id] = head
    return found


def note_promotion(root: str, workload: str, chain: Chain, rows: Sequence[Row]) -> None:
    """Remember the end of a chain unless a later one is known. It never fails: a head that is behind is no damage."""
    if not place(root).keeps_files or not chain:
        return
    last = chain[-1]
    try:
        known = read_promotion_heads(root, workload, [last.query_id]).get(last.query_id)
        if known is None or known.generation < last.generation:
            write_promotion_head(root, workload, chain, rows)
    except (OSError, HeadUnreadable) as error:
        LOG.warning("the head of query %s could not be written: %s", last.query_id, error)


def write_promotion_head(root: str, workload: str, chain: Chain, rows: Sequence[Row]) -> None:
    """Write the head of a chain, then delete the earlier ones it replaces."""
    last = chain[-1]
    name = f"{last.query_id}.{last.generation}.{last.chain_hash}.json"
    file = HeadFile(root, f"{_folder(root, workload).path}/{name}")
    file.write({"rows": [dict(row) for row in rows]}, durable=True)
    for head in _heads(root, workload):
        if head.query_id == last.query_id and head.generation < last.generation:
            head.file.delete()


def _heads(root: str, workload: str) -> list[PromotionHead]:
    files = _folder(root, workload).listed() if place(root).keeps_files else []
    found = [(file, match) for file in files if (match := _NAME.fullmatch(file.name)) is not None]
    return [PromotionHead(m["query"], int(m["generation"]), m["hash"], file) for file, m in found]


def _folder(root: str, workload: str) -> HeadFile:
    return HeadFile(root, f"{FOLDER}/queries/{workload}")
