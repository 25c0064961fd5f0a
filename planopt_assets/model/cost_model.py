"""Prices of work in CPU time, the executions that they may be fitted to, and the environment that they hold in."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Final

from planopt_assets.model.ids import content_id
from planopt_assets.model.work_units import Units

PRICE_OF: Final = {
    "rows": "row_ns",
    "decoded_kib": "decoded_kib_ns",
    "files": "file_ns",
    "tasks": "task_ns",
    "blocks": "block_ns",
    "shuffled_rows": "shuffled_row_ns",
    "joined_rows": "joined_row_ns",
    "grouped_rows": "grouped_row_ns",
}
"""By unit of work (`Units`), the name of its price."""


@dataclass(frozen=True, order=True, slots=True)
class Environment:
    """Where executions ran: what a row costs with one number of cores or one engine says little of another."""

    cores: int
    engine: str  # versions of Spark, Delta and Java


UNKNOWN: Final = Environment(0, "")


@dataclass(frozen=True, order=True, slots=True)
class Work:
    """What one execution did, and the CPU that was measured for it."""

    query_id: str
    cpu_ns: int
    units: Units


@dataclass(frozen=True, slots=True)
class Prices:
    """Nanoseconds of CPU for each unit of work, with what they were fitted to and how well they tell it."""

    row_ns: int  # out of a scan
    decoded_kib_ns: int
    file_ns: int
    task_ns: int
    block_ns: int
    shuffled_row_ns: int
    joined_row_ns: int
    grouped_row_ns: int
    query_ns: int  # planning and start, which no policy saves
    executions: int = 0  # that the store held
    counted: int = 0  # the same with those that count for nothing: until this has doubled, they are not read again
    queries: int = 0
    error: float | None = None  # median over queries of modelled to measured CPU, whichever way, as a factor
    prior_error: float | None = None  # the same of the prices that planopt comes with
    fitted_on: str = ""  # hash of the work that they were fitted to
    cores: int = 0  # that they were fitted with; unknown (0, and no engine) of the given prices
    engine: str = ""

    @property
    def id(self) -> str:
        return _id_of(self)

    @property
    def environment(self) -> Environment:
        return Environment(self.cores, self.engine)

    @property
    def saved_task_ns(self) -> int:
        """What a change that avoids a task is credited with: no gain is promised too high."""
        return max(GIVEN.task_ns, self.task_ns // 2)

    @property
    def saved_block_ns(self) -> int:
        return max(GIVEN.block_ns, self.block_ns // 2)

    def of(self, units: Units) -> int:
        """CPU of so much work, without planning and start."""
        return sum(getattr(units, unit) * getattr(self, price) for unit, price in PRICE_OF.items())

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> Prices:
        return Prices(**json.loads(text))


@lru_cache(maxsize=256)
def _id_of(prices: Prices) -> str:
    return content_id("cst", asdict(prices))


GIVEN = Prices(
    row_ns=20,
    file_ns=2_000_000,
    task_ns=5_000_000,
    block_ns=200_000,
    query_ns=100_000_000,
    decoded_kib_ns=1_000,
    shuffled_row_ns=250,
    joined_row_ns=50,
    grouped_row_ns=200,
)
"""What planopt comes with: the low end of what was measured with Spark 4.2 on local disk.

A row and a KiB: reading them in a vectorised scan, by rows and by the bytes of the columns that are read. A file:
opening it and reading its footer. A block: each map task of a shuffle writes one per partition; 0.4 to 0.7 ms were
measured for one that holds rows, halved. A shuffled row: written, fetched, and mostly sorted. A joined row: an input of
a join, probed or merged. A grouped row: into an aggregation, with its expressions.
"""
