"""Registered tables without Spark: where they are and which version is the newest."""

from __future__ import annotations

from planopt_assets.errors import TableUnreadable
from planopt_assets.model.inputs import PinnedTable


class Pins:
    """The version of every table, looked up once: what commits meanwhile does not exist for this run."""

    def __init__(self) -> None:
        self._pinned: dict[str, PinnedTable] = {}

    def pin(self, name: str, location: str) -> PinnedTable:
        if location not in self._pinned:
            self._pinned[location] = pin_table(name, location)
        return self._pinned[location]


def pin_table(name: str, location: str) -> PinnedTable:
    """One table at its newest version.

    Deletion vectors, column mapping and shallow clones do not matter here: only the log's head is read.
    """
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        table = DeltaTable(location)
        return PinnedTable(name, location, str(table.metadata().id), table.version())
    except (DeltaError, OSError, ValueError) as error:
        raise TableUnreadable(
            f"table {name!r} cannot be read as a Delta table at {location}: {str(error).splitlines()[0]}",
            where=f"table {name}",
            fix="check the path in the workload file; it must be a folder that holds `_delta_log`",
        ) from error
