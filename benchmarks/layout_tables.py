"""Tables whose layout is in the way, of any size. The same size gives the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from deltalake import write_deltalake

CUSTOMERS, DAYS = 100_000, 64
AT_ONCE = 49
"""Files of one append: Delta's auto compaction is sure to act only from 50 small files on."""


@dataclass(frozen=True, slots=True)
class Size:
    """Rows of the table, the files they come in, and bytes of each row that no compression makes smaller."""

    rows: int
    files: int
    payload: int = 16


def events(location: Path, size: Size, *, in_order_of_days: bool) -> None:
    """`customer` is random, `region` follows it, `status` says next to nothing, `day` may be the order of the files."""
    chance = np.random.default_rng(7)
    rows = size.rows // size.files
    for part in range(size.files):
        customers = chance.integers(0, CUSTOMERS, rows)
        days = np.full(rows, part % DAYS) if in_order_of_days else chance.integers(0, DAYS, rows)
        made = pa.table(
            {
                "customer": customers,
                "region": customers // 10_000 + chance.integers(0, 5, rows),
                "status": np.where(chance.random(rows) < 0.99, "done", "open"),
                "day": days,
                "amount": chance.integers(0, 1000, rows),
                "payload": pa.FixedSizeBinaryArray.from_buffers(
                    pa.binary(size.payload), rows, [None, pa.py_buffer(chance.bytes(rows * size.payload))]
                ).cast(pa.binary()),
            }
        )
        write_deltalake(location, made, mode="append")


def fed(spark: Any, location: Path, size: Size) -> None:
    """The same columns, written by Spark in appends of 49 files, each from a session of its own."""
    appends = max(2, size.files // AT_ONCE)
    rows = size.rows // appends
    for part in range(appends):
        frame = spark.newSession().range(part * rows, (part + 1) * rows, 1, AT_ONCE)
        made = frame.selectExpr(
            f"pmod(hash(id), {CUSTOMERS}) AS customer",
            f"pmod(hash(id), {CUSTOMERS}) div 10000 AS region",
            "if(id % 100 = 0, 'open', 'done') AS status",
            f"id % {DAYS} AS day",
            "id % 1000 AS amount",
        )
        made.write.format("delta").mode("append").save(str(location))
