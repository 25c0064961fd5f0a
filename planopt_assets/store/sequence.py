"""The order of rows: a number that every commit takes, higher than all numbers its writer can see. No clock is asked.

Worked: `verdicts` ends with 7 and `active_policies` with 9. The next commit to either is 10, and so is one to a third
table that is made at the same moment by somebody else. Whoever writes after having seen a row gets a higher number than
that row has (Lamport's clock). In a table that delta-rs writes, numbers follow the commits exactly: such a commit must
be the next version of what its writer saw. Rows of one number were stored at the same time, as far as anybody can
tell; there the wall clock decides, as it does for rows that are older than this column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.delta.log_files import LogFiles
from planopt_assets.delta.place import data_files, place_of
from planopt_assets.delta.refusals import refusal
from planopt_assets.delta.side_by_side import side_by_side
from planopt_assets.errors import TableUnreachable, TableUnreadable
from planopt_assets.store.opened import unchecked, unreached

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable, Transaction

COLUMN = "sequence"
APPLICATION = "planopt:sequence"
"""The Delta transaction whose version is the last number of a table, so that no data file must be read for it."""
NOTED_AT = f"{APPLICATION}:at"
"""And the version of the table that noted it. Spark, compaction and deletion note nothing: then the number is stale."""

COMPARED = ("plan_artifacts", "runtime_counters", "verdicts", "active_policies")
"""Tables whose rows are compared across tables: which verdicts an observation knew, what ran after a promotion."""


def last_number(root: str) -> int:
    """The highest number in the tables that are compared. A damaged one has no say; one out of reach is an error."""
    return max(side_by_side(lambda name: _last_in(root, name), COMPARED))


def last_number_of(table: DeltaTable) -> int:
    """The highest number in a table. Where others wrote since it was noted, the rows themselves are asked."""
    noted = table.transaction_version(APPLICATION) or 0
    at = table.transaction_version(NOTED_AT)
    return noted if at == table.version() else max(noted, _in_rows(table))


def note(number: int, version: int) -> list[Transaction]:
    """What the commit that makes this version of a table remembers of its number."""
    from deltalake import Transaction

    return [Transaction(APPLICATION, number), Transaction(NOTED_AT, version)]


def highest(rows: pa.Table) -> int:
    import pyarrow.compute as pc

    return pc.max(rows[COLUMN]).as_py() or 0


def numbered(rows: pa.Table, after: int) -> tuple[pa.Table, int]:
    """Rows of one commit with their number. A row that has one keeps it: it was stored before, and is written again."""
    import pyarrow.compute as pc

    number = max(after, highest(rows)) + 1
    return rows.set_column(rows.column_names.index(COLUMN), COLUMN, pc.fill_null(rows[COLUMN], number)), number


def _last_in(root: str, name: str) -> int:
    noted = _noted_by_newest_commit(root, name)
    table = unchecked(root, name) if noted is None else None
    if table is None:
        return noted or 0
    try:
        return last_number_of(table)
    except OSError as error:
        if why := refusal(error):
            raise unreached(root, name, why) from error
        return 0  # whoever reads its rows is told


def _noted_by_newest_commit(root: str, name: str) -> int | None:
    """The last number, if the newest commit noted it: one listing and one file, where a table is opened with many."""
    try:
        log = LogFiles(name, f"{root}/{name}")
        newest = log.newest()
        actions = (action["txn"] for action in log.commit_actions(newest) if action.get("txn"))
        noted = {transaction["appId"]: transaction["version"] for transaction in actions}
        return int(noted[APPLICATION]) if noted.get(NOTED_AT) == newest else None
    except TableUnreachable as error:
        raise unreached(root, name, error.what) from error
    except (TableUnreadable, LookupError, TypeError):  # there is no table, or it is damaged
        return None


def _in_rows(table: DeltaTable) -> int:
    import pyarrow as pa

    files = data_files(table)
    if not files:
        return 0
    try:
        return highest(place_of(table).dataset(files, pa.schema([(COLUMN, pa.int64())])).to_table())
    except pa.ArrowException as error:
        raise OSError(str(error)) from error
