"""The store of one workload: what it holds now, and the two ways to add to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planopt_assets.store import writer
from planopt_assets.store.promotions import commit
from planopt_assets.store.snapshot import Snapshot

if TYPE_CHECKING:
    from planopt_assets.model.promotion import Promotion
    from planopt_assets.store.codecs.codec import AnyCodec

Nouns = Mapping["AnyCodec", Sequence[Any]]
"""Nouns by the codec of their table, in the order in which the tables are written."""


class Store:
    """Reading starts no Spark. Writing needs it only for a store that only Spark can write."""

    def __init__(self, root: str, workload: str, spark: writer.Spark) -> None:
        self.root, self.workload, self._spark = root, workload, spark
        self._snapshot: Snapshot | None = None

    @property
    def snapshot(self) -> Snapshot:
        """The store as it was when this was first asked; a write of our own ends it."""
        if self._snapshot is None:
            self._snapshot = self.newest()
        return self._snapshot

    def refresh(self) -> None:
        """From here on the snapshot is a new one."""
        self._snapshot = None

    def newest(self) -> Snapshot:
        """The store as it is at this moment, whoever wrote to it meanwhile."""
        return Snapshot(self.root, self.workload)

    def append(self, run_id: str, stage: str, nouns: Nouns) -> None:
        """Store the nouns of a stage, one commit per table; a repeated call of the same run and stage adds nothing."""
        rows = {codec.table: [codec.to_row(noun) for noun in new] for codec, new in nouns.items()}
        if not any(rows.values()):
            return
        try:
            writer.append(self._spark, self.root, workload=self.workload, run_id=run_id, stage=stage, rows=rows)
        finally:  # of several tables the first may be stored when a later one fails
            self.refresh()

    def commit(self, promotion: Promotion, run_id: str) -> None:
        """Append the next generation of a query's policy, or fail because somebody else did."""
        try:
            commit(self._spark, self.newest, promotion, run_id)
        finally:
            self.refresh()
