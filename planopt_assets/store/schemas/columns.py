"""What every stored table has in common: types of columns, the first columns and the last."""

from __future__ import annotations

import pyarrow as pa

TEXT, LONG, REAL, FLAG, BYTES = pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.binary()
TEXTS = pa.list_(pa.string())
MOMENT = pa.timestamp("us", tz="UTC")

_FIRST: dict[str, pa.DataType] = {
    "schema_version": pa.int32(),
    "workload": TEXT,
    "query_id": TEXT,
    "run_id": TEXT,
    "recorded_at": MOMENT,
}
_LAST: dict[str, pa.DataType] = {"sequence": LONG}  # since version 6: the order of commits, `store/sequence.py`


def table(**columns: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, kind) for name, kind in {**_FIRST, **columns, **_LAST}.items()])
