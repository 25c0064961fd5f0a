"""The tables that a policy in force depends on, as the heads of their logs say now. No Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planopt_assets.promote.suspension import recorded

if TYPE_CHECKING:
    from planopt_assets.engine.delta.pins import Pins
    from planopt_assets.model.conditions import TableState
    from planopt_assets.model.promotion import Chain
    from planopt_assets.model.workload import Table


def heads(tables: Sequence[Table], chain: Chain, pins: Pins) -> tuple[TableState, ...]:
    """Every table that the recorded conditions name. A table that cannot be read is an error.

    A table of a catalog is looked up where it was when the policy was proven: only Spark could tell otherwise.
    """
    declared = {t.name: t.path for t in tables}
    known = {t.name: t.location for conditions in recorded(chain) for t in conditions.proven.tables}
    places = {name: declared.get(name) or location for name, location in known.items()}
    return tuple(
        pins.state(name, place, in_catalog=declared.get(name) is None) for name, place in places.items() if place
    )
