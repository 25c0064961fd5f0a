"""What a DELETE, UPDATE or MERGE wrote again without a change, as its writer noted it in the commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.model.data_file import RowChange

if TYPE_CHECKING:
    from planopt_assets.delta.log_files import Json

_COPIED = ("numCopiedRows", "numTargetRowsCopied")
_DELETED = ("numDeletedRows", "numTargetRowsDeleted")
_UPDATED = ("numUpdatedRows", "numTargetRowsUpdated")
_INSERTED = ("numTargetRowsInserted",)


def row_change(info: Json, added_bytes: int) -> RowChange | None:
    """Of one commit; None where its writer does not say how many rows it copied.

    Only the names of Delta on Spark count. Other writers (delta-rs) name them differently, and write no deletion
    vectors. Worked: an UPDATE of 1 row in a file of 1,000 rows adds a file of 8,000 bytes. 999 rows are a copy, and
    7,992 of the bytes.

    >>> row_change({"operationMetrics": {"numUpdatedRows": "1", "numCopiedRows": "999"}}, 8_000)
    RowChange(changed_rows=1, copied_rows=999, copied_bytes=7992)
    >>> row_change({"operationMetrics": {"numOutputRows": "1000"}}, 8_000) is None
    True
    """
    metrics = info.get("operationMetrics") or {}
    if not any(name in metrics for name in _COPIED):
        return None
    copied, deleted, updated, inserted = (
        sum(_count(metrics.get(name)) for name in names) for names in (_COPIED, _DELETED, _UPDATED, _INSERTED)
    )
    written = copied + updated + inserted
    return RowChange(deleted + updated, copied, added_bytes * copied // written if written else 0)


def _count(value: object) -> int:
    """Delta writes numbers as texts; below zero is unknown."""
    text = str(value)
    return int(text) if text.isdecimal() else 0
