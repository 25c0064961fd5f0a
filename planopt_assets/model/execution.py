"""One run of one query and what it cost, whoever told of it: an observation, a trial, or the user's own job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from planopt_assets.model.counters import Counters
from planopt_assets.model.stamp import NOT_STORED, Stamp

Source = Literal["observe", "trial", "production"]
Action = Literal["frame", "write", "other"]
"""What a user's job did with a query.

`frame`: the frame's own plan ran as a whole (`collect`, `toPandas`). `write`: its result was written. `other`: Spark
planned something else on top of it that may need less or more (`count`, `show`), or ran it a second time.
"""


@dataclass(frozen=True, slots=True)
class Execution:
    """A row of `runtime_counters`; `id` is that of the observation or trial, or `exe-…` for a run of the user's job."""

    id: str
    query_id: str
    source: Source
    policy_id: str
    binding: int | None  # None: called with values that the workload file does not declare
    counters: Counters
    # Of the user's own runs only.
    action: Action | None = None
    status: Literal["ok", "failed"] | None = None
    note: str | None = None  # the error, or why it did not run under the policy in force
    # Since schema version 7; unknown in older rows.
    cores: int | None = None  # Spark's default parallelism: counters of another number of cores do not compare
    control: bool | None = None  # drawn to run as original, to compare with runs under the policy in force
    table_sizes: tuple[tuple[str, int], ...] = ()  # bytes by table name, where the table's log tells
    stamp: Stamp = field(default=NOT_STORED, compare=False)

    def counter(self, name: str) -> int | None:
        """A counter by its name; None: unknown, which is not zero."""
        value: int | None = getattr(self.counters, name)
        return value

    @property
    def kind(self) -> tuple[str, str]:
        """Only executions of one kind do the same work."""
        return self.source, self.action or "frame"

    @property
    def disturbed(self) -> bool:
        """A run with lost tasks, or one answered from a cache, says nothing about a plan."""
        c = self.counters
        return any((value or 0) > 0 for value in (c.failed_tasks, c.killed_tasks, c.cache_reads))
