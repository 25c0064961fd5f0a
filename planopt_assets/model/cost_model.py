"""Prices of work in CPU time, and the executions that they may be fitted to."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache

from planopt_assets.model.ids import content_id


@dataclass(frozen=True, slots=True)
class Work:
    """What one execution did, and the CPU that was measured for it."""

    query_id: str
    cpu_ns: int
    rows: int  # into its first stages
    files: int
    tasks: int
    blocks: int  # of shuffles: tasks times the partitions they write into


@dataclass(frozen=True, slots=True)
class Prices:
    """Nanoseconds of CPU for each unit of work, with what they were fitted to and how well they tell it."""

    row_ns: int
    file_ns: int
    task_ns: int
    block_ns: int
    query_ns: int  # planning and start, which no policy saves
    executions: int = 0  # that the store held
    queries: int = 0
    error: float | None = None  # median over queries of modelled to measured CPU, whichever way, as a factor
    prior_error: float | None = None  # the same of the prices that planopt comes with
    fitted_on: str = ""  # hash of the work that they were fitted to

    @property
    def id(self) -> str:
        return _id_of(self)

    @property
    def saved_task_ns(self) -> int:
        """What a change that avoids a task is credited with: no gain is promised too high."""
        return max(GIVEN.task_ns, self.task_ns // 2)

    @property
    def saved_block_ns(self) -> int:
        return max(GIVEN.block_ns, self.block_ns // 2)

    def of(self, *, rows: int, files: int, tasks: int, blocks: int) -> int:
        """CPU of so much work, without planning and start."""
        return rows * self.row_ns + files * self.file_ns + tasks * self.task_ns + blocks * self.block_ns

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> Prices:
        return Prices(**json.loads(text))


@lru_cache(maxsize=256)
def _id_of(prices: Prices) -> str:
    return content_id("cst", asdict(prices))


GIVEN = Prices(row_ns=1_000, file_ns=2_000_000, task_ns=5_000_000, block_ns=200_000, query_ns=100_000_000)
"""What planopt comes with: the low end of what was measured with Spark 4.2 on local disk.

A row: reading it and doing a little with it. A file: opening it and reading its footer. A block: each map task of a
shuffle writes one per partition; 0.4 to 0.7 ms were measured for one that holds rows, halved.
"""
