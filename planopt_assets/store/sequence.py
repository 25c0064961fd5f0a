"""The order of rows: a number that every commit takes, higher than all numbers its writer can see. No clock is asked.

Worked: `verdicts` ends with 7 and `active_policies` with 9. The next commit to either is 10, and so is one to a third
table that is made at the same moment by somebody else. Whoever writes after having seen a row gets a higher number than
that row has (Lamport's clock). In one table on a file system numbers follow the commits exactly, because such a commit
must be the next version of what its writer saw. Rows of one number were stored at the same time, as far as anybody can
tell; there the wall clock decides, as it does for rows that are older than this column.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from planopt_assets.store.opened import data_files

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable

COLUMN = "sequence"
APPLICATION = "planopt:sequence"
"""The Delta transaction whose version is the last number of a table, so that no data file must be read for it."""

COMPARED = ("plan_artifacts", "runtime_counters", "verdicts", "active_policies")
"""Tables whose rows are compared across tables: which verdicts an observation knew, what ran after a promotion."""


def last_number(root: str) -> int:
    """The highest number in the tables that are compared. A table that cannot be opened has no say."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    found = [0]
    for name in COMPARED:
        location = f"{root}/{name}"
        try:
            exists = DeltaTable.is_deltatable(location) if "://" in root else Path(location, "_delta_log").is_dir()
            found += [last_number_of(DeltaTable(location))] if exists else []
        except (DeltaError, OSError):
            continue  # whoever reads its rows is told
    return max(found)


def last_number_of(table: DeltaTable) -> int:
    """The highest number in a table. Where Spark wrote last, or a repair, the rows themselves are asked."""
    noted = table.transaction_version(APPLICATION)
    return noted if noted is not None else _in_rows(table)


def numbered(rows: pa.Table, after: int) -> tuple[pa.Table, int]:
    """Rows of one commit with their number. A row that has one keeps it: it was stored before, and is written again."""
    import pyarrow.compute as pc

    number = max(after, pc.max(rows[COLUMN]).as_py() or 0) + 1
    return rows.set_column(rows.column_names.index(COLUMN), COLUMN, pc.fill_null(rows[COLUMN], number)), number


def _in_rows(table: DeltaTable) -> int:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    files = data_files(table)
    if not files:
        return 0
    try:
        found = ds.dataset(files, schema=pa.schema([(COLUMN, pa.int64())]), format="parquet").to_table()
    except pa.ArrowException as error:
        raise OSError(str(error)) from error
    return pc.max(found[COLUMN]).as_py() or 0
