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
    owners: tuple[str, ...] = ()  # of all assets: e-mail addresses, or teams as `team:name`
    automation: Automation = field(default_factory=Automation)  # the hours of its schedules, as of then

    def workload(self) -> Workload:
        """The workload as the file says it now."""
        return load_workload(Path(self.file))

    @cached_property
    def queries(self) -> dg.DynamicPartitionsDefinition:
        """One partition per query."""
        return dg.DynamicPartitionsDefinition(name=self.names.partitions)

    @cached_property
    def table_partitions(self) -> dg.DynamicPartitionsDefinition:
        """One partition per registered table."""
        return dg.DynamicPartitionsDefinition(name=self.names.table_partitions)
