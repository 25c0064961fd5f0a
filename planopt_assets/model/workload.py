"""The declared workload: tables, recurring queries, and how far planopt may go."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from planopt_assets.model.alerts import Destination
from planopt_assets.model.automation import Automation, TrialWindow

Objective = Literal["cpu", "latency", "bytes"]
Mode = Literal["observe", "advise", "auto"]
CaptureTier = Literal["always_on", "debug"]
Maintain = Literal["never", "by_hand", "auto"]
Scalar = str | int | float | bool | None
LONGEST_SQL = 1024 * 1024
"""Bytes of a query's text; the SQL gate refuses a longer one."""
SIMILAR = 2.0
"""Tables of half to double the bytes are similar, unless the workload file says otherwise."""
EXPLORE = 0.1
"""Share of a run for exploration, unless the workload file says otherwise."""


@dataclass(frozen=True, slots=True)
class Table:
    """A registered Delta table. Exactly one of `path` and `catalog` is set."""

    name: str
    path: str | None = None  # absolute path or URI (`s3://…`)
    catalog: str | None = None
    maintain: Maintain = "never"  # who may change its layout: nobody, a person, or planopt by itself in mode `auto`
    features: tuple[str, ...] = ()  # table features that planopt may add, although older software cannot use them
    index: bool = False  # opt-in: bloom filters in its files
    owners: tuple[str, ...] = ()  # empty: the workload's


@dataclass(frozen=True, slots=True)
class Query:
    """A recurring query: SQL text, or a `module:callable` that returns a DataFrame."""

    id: str
    sql: str | None = None
    python: str | None = None
    bindings: tuple[tuple[tuple[str, Scalar], ...], ...] = ((),)  # one entry per binding, sorted (name, value) pairs
    runs_per_day: float = 1.0
    debug_sample: float | None = None  # None: the workload's
    any_values: bool = False  # whether `tuned` applies a policy to parameter values that were never tried
    max_loss: float = 0.1  # share by which it may get worse for a layout that helps the others
    owners: tuple[str, ...] = ()  # empty: the workload's

    @property
    def source(self) -> Literal["sql", "dataframe"]:
        return "sql" if self.sql is not None else "dataframe"


@dataclass(frozen=True, slots=True)
class Budgets:
    """Upper bounds of trial time, in seconds. A spent budget is an outcome, not an error.

    An executor-second is one executor held for one second, busy or not: that is what a cluster costs.
    """

    per_candidate: float = 120.0
    per_query: float = 300.0  # per experiment: a query may have several in a run
    per_run: float = 1800.0
    per_night: float = 14400.0  # of the nightly sweep, in place of `per_run`
    explore: float = EXPLORE  # share of a run's seconds for what no rule foresees; 0: never
    executor_seconds_per_query: float | None = None  # None: no limit beside the clock
    executor_seconds_per_run: float | None = None  # also of the nightly sweep

    def per_query_on(self, executors: int) -> float:
        """Seconds for one experiment where so many executors are held.

        >>> Budgets(per_query=300.0, executor_seconds_per_query=1000.0).per_query_on(10)
        100.0
        """
        return _within(self.per_query, self.executor_seconds_per_query, executors)

    def run_on(self, seconds: float, executors: int) -> float:
        """Seconds for a run that has so many on the clock, where so many executors are held."""
        return _within(seconds, self.executor_seconds_per_run, executors)


def _within(seconds: float, executor_seconds: float | None, executors: int) -> float:
    return seconds if executor_seconds is None else min(seconds, executor_seconds / max(1, executors))


@dataclass(frozen=True, slots=True)
class Maintenance:
    """Limits of trying and changing layouts."""

    trial_bytes: float = 20e9  # a larger table is tried on some of its files
    pay_back_days: float = 30.0  # a rewrite must have paid for itself by then


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
    maintenance: Maintenance = field(default_factory=Maintenance)
    capture: CaptureTier = "always_on"
    debug_sample: float = 0.1  # share of observations captured as `debug` in tier `always_on`
    control_share: float = 0.05  # of the user's own runs; they go as original, for comparison
    allow_python: bool = False  # opt-in: Python callables and Python UDFs in queries
    seed: int = 20_240_101
    similar_within: float = SIMILAR  # how far the size of a table may be from that of the trials, as a factor
    automation: Automation = field(default_factory=Automation)
    trial_window: TrialWindow | None = None  # None: trials may run at any hour
    alerts: tuple[Destination, ...] = ()
    owners: tuple[str, ...] = ()  # e-mail addresses, or teams as `team:data`
    docs_url: str = ""  # where planopt's documentation is served
    sql_files: tuple[str, ...] = field(default=(), compare=False)  # read with the file; a change of one is a change too

    @property
    def session_settings(self) -> dict[str, str]:
        """The declared settings of every session, whoever opens it."""
        return {**dict(self.spark_settings), **dict(self.knobs.pin)}

    def query(self, query_id: str) -> Query:
        return next(q for q in self.queries if q.id == query_id)

    def owners_of(self, query_id: str) -> tuple[str, ...]:
        """Of one query: its own, or those of the workload."""
        return next((q.owners for q in self.queries if q.id == query_id and q.owners), self.owners)

    def table(self, name: str) -> Table:
        return next(t for t in self.tables if t.name == name)
