"""The registered tables of a run: pinned once, or with the reason why one cannot be read."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.delta.protocol import protocol_gate
from planopt_assets.engine.gate.registered_relations import RegisteredRelations
from planopt_assets.errors import PlanoptError, ProtocolUnsupported, TableUnreadable
from planopt_assets.model.location import plain_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from planopt_assets.engine.delta.pins import Pins
    from planopt_assets.model.arm import Arm, Tables
    from planopt_assets.model.workload import Table


class Registry:
    """A table that cannot be read blocks only the queries that name it."""

    def __init__(self, tables: Sequence[Table], pins: Pins, spark: Callable[[], SparkSession]) -> None:
        self._tables, self._pins, self._spark = tables, pins, spark
        self.unusable: dict[str, PlanoptError] = {}
        self._locations: dict[str, str] = {}
        self._relations: dict[Tables, RegisteredRelations] = {}

    @cached_property
    def pinned(self) -> Tables:
        """Every table with a log, at the version that this run reads."""
        found = []
        for table in self._tables:
            try:
                self._locations[table.name] = location = self._locate(table)
                found.append(self._pins.pin(table.name, location))
                protocol_gate(self._pins.facts(table.name, location))
            except (TableUnreadable, ProtocolUnsupported) as error:
                self.unusable[table.name] = error
        return tuple(found)

    def readable(self, arm: Arm) -> Tables:
        """The tables of an arm that can be named in its session."""
        return tuple(t for t in arm.tables if t.name not in self.unusable)

    def relations(self, arm: Arm) -> RegisteredRelations:
        """What the SQL gate lets a query read in an arm: its own tables, wherever they are, and no other place of them.

        Unusable tables are included: they get their own error later.
        """
        if arm.tables not in self._relations:
            unusable = {name: place for name, place in self._locations.items() if name in self.unusable}
            own = {t.name: t.location for t in arm.tables}
            self._relations[arm.tables] = RegisteredRelations.of(unusable | own)
        return self._relations[arm.tables]

    def blamed(self, error: Exception) -> tuple[str, ...]:
        """The unusable tables behind this Spark error. They have no view, so Spark does not find them."""
        named = missing_relation(error)
        return tuple(
            name
            for name in self.unusable
            if named == name.lower() or (name in self._locations and self._locations[name] in str(error))
        )

    def _locate(self, table: Table) -> str:
        """The path from the workload file or from Spark's catalog. The log is not opened."""
        if table.catalog is None:
            return str(table.path)
        from pyspark.errors import AnalysisException

        state: Any = self._spark()._jsparkSession.sessionState()
        try:
            identifier = state.sqlParser().parseTableIdentifier(table.catalog)
            return plain_path(str(state.catalog().getTableMetadata(identifier).location()))
        except AnalysisException as error:
            raise TableUnreadable(
                f"Spark's catalog has no table {table.catalog}",
                where=f"table {table.name}",
                fix="correct `catalog` in the workload file, or give the table's path",
            ) from error


def missing_relation(error: Exception) -> str | None:
    condition = getattr(error, "getCondition", lambda: None)()
    parameters: dict[str, str] = getattr(error, "getMessageParameters", dict)() or {}
    return parameters.get("relationName", "").strip("`").lower() if condition == "TABLE_OR_VIEW_NOT_FOUND" else None
