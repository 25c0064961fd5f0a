"""One workload file in one Dagster code location. Every asset, check, job, sensor and schedule is made for one."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

from planopt_assets.defs.names import Names
from planopt_assets.model.automation import Automation
from planopt_assets.workload import load_workload

if TYPE_CHECKING:
    from planopt_assets.model.workload import Table, Workload


@dataclass(frozen=True)  # no slots: `queries` is kept
class CodeLocation:
    """The workload file, and the names that its assets and jobs have in Dagster.

    A definition reads the file when it runs, not when it is made: the file may have changed since.
    """

    file: str
    names: Names = field(default_factory=Names)
    tables: tuple[Table, ...] = ()  # as the file listed them when the code location was loaded
    query_owners: tuple[str, ...] = ()  # of single queries, as of then
    owners: tuple[str, ...] = ()  # of the whole workload: e-mail addresses, or teams as `team:name`
    docs_url: str = ""  # where planopt's documentation is served
    automation: Automation = field(default_factory=Automation)  # the hours of its schedules, as of then

    def workload(self) -> Workload:
        """The workload as the file says it now."""
        return load_workload(Path(self.file))

    @property
    def owners_of_queries(self) -> list[str]:
        """Of assets whose partitions are queries: an asset has no owner for one of its partitions alone."""
        return list(dict.fromkeys([*self.owners, *self.query_owners]))

    @property
    def owners_of_tables(self) -> list[str]:
        return list(dict.fromkeys([*self.owners, *(owner for table in self.tables for owner in table.owners)]))

    @cached_property
    def queries(self) -> dg.DynamicPartitionsDefinition:
        """One partition per query."""
        return dg.DynamicPartitionsDefinition(name=self.names.partitions)

    @cached_property
    def table_partitions(self) -> dg.DynamicPartitionsDefinition:
        """One partition per registered table."""
        return dg.DynamicPartitionsDefinition(name=self.names.table_partitions)
