"""The gate of a table: is it as its writers left it, and fit to be read?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.maintain.markdown import markdown, numbers
from planopt_assets.model.gate import Gate

if TYPE_CHECKING:
    from planopt_assets.loop.table_standing import TableStanding

TABLE_READY = "table_ready"
DESCRIPTION = "The table is undamaged and readable, and nothing about it costs its queries more than it must."


def table_ready(standing: TableStanding | None) -> Gate:
    """An error is a regression of the table itself, a warning something to look at; a note fails nothing."""
    found = standing.readiness if standing is not None else None
    if standing is None or found is None:
        return Gate.without_evidence("planopt never looked at the table")
    errors = [f for f in found.findings if f.severity == "error"]
    warnings = [f for f in found.findings if f.severity == "warning"]
    said = "; ".join(f.consequence for f in [*errors, *warnings])
    return Gate(
        not errors and not warnings,
        bool(errors),
        said or f"{found.files:,} files, {found.debt or 0:,} too many; integrity {found.integrity}",
        markdown(found, standing.proposals),
        {name: float(value) for name, value in numbers(found, standing.proposals).items()},
    )
