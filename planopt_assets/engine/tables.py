"""Registered tables without Spark: where they are and which version is the newest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.errors import TableUnreadable
from planopt_assets.model.inputs import PinnedTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt_assets.model.workload import Table, Workload


def pin_tables(workload: Workload, catalog_locations: Mapping[str, str] | None = None) -> tuple[PinnedTable, ...]:
    """The newest version of every table of the workload, read from its log with delta-rs.

    `catalog_locations` maps a catalog name to the location Spark gave for it; see `Workspace.resolve_catalog`.
    """
    locations = catalog_locations or {}
    return tuple(pin_table(t.name, _location(t, locations)) for t in workload.tables)


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


def _location(table: Table, catalog_locations: Mapping[str, str]) -> str:
    if table.path is not None:
        return str(table.path)
    if table.catalog is not None and table.catalog in catalog_locations:
        return catalog_locations[table.catalog]
    raise TableUnreadable(
        f"the location of catalog table {table.catalog!r} is not known yet",
        where=f"table {table.name}",
        fix="run `planopt run` once: it asks Spark's catalog and remembers the answer in the store",
    )
