"""The declared workload: tables, recurring queries, and how far planopt may go."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Objective = Literal["cpu", "latency", "bytes"]
Mode = Literal["observe", "advise", "auto"]
CaptureTier = Literal["always_on", "debug"]
Scalar = str | int | float | bool | None
LONGEST_SQL = 1024 * 1024
"""Bytes of a query's text; the SQL gate refuses a longer one."""


@dataclass(frozen=True, slots=True)
class Table:
    """A registered Delta table. Exactly one of `path` and `catalog` is set."""

    name: str
    path: str | None = None  # absolute path or URI (`s3://…`)
    catalog: str | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A recurring query: SQL text, or a `module:callable` that returns a DataFrame."""

    id: str
    sql: str | None = None
    python: str | None = None
    bindings: tuple[tuple[tuple[str, Scalar], ...], ...] = ((),)  # one entry per binding, sorted (name, value) pairs
    runs_per_day: float = 1.0
    debug_sample: float | None = None  # None: the workload's

    @property
    def source(self) -> Literal["sql", "dataframe"]:
        return "sql" if self.sql is not None else "dataframe"


@dataclass(frozen=True, slots=True)
class Budgets:
    """Upper bounds of trial time, in seconds. A spent budget is an outcome, not an error."""

    per_candidate: float = 120.0
    per_query: float = 300.0
    per_run: float = 1800.0


@dataclass(frozen=True, slots=True)
class Knobs:
    """What automation may change: `allow` (empty: the whole catalogue), `deny`, and `pin` (fixed values)."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    pin: tuple[tuple[str, str], ...] = ()


NO_LIMITS = Knobs()
"""A workload file that says nothing about knobs: the catalogue, without what is opt-in."""


@dataclass(frozen=True, slots=True)
class Workload:
    """The whole workload file, validated. All paths are absolute."""

    name: str
    file: Path
    store: str  # absolute path or URI (`s3://…`)
    tables: tuple[Table, ...]
    queries: tuple[Query, ...]
    master: str = "local[*]"
    spark_settings: tuple[tuple[str, str], ...] = ()
    objective: Objective = "cpu"
    mode: Mode = "advise"
    budgets: Budgets = field(default_factory=Budgets)
    knobs: Knobs = field(default_factory=Knobs)
    capture: CaptureTier = "always_on"
    debug_sample: float = 0.1  # share of observations captured as `debug` in tier `always_on`
    allow_python: bool = False  # opt-in: Python callables and Python UDFs in queries
    seed: int = 20_240_101

    def query(self, query_id: str) -> Query:
        return next(q for q in self.queries if q.id == query_id)
