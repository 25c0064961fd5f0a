"""The input of decide: one observation of one query, with the ids of its rows."""

from __future__ import annotations

from dataclasses import dataclass

from planopt_assets.model.cost_model import GIVEN, Prices
from planopt_assets.model.counters import Counters
from planopt_assets.model.policy import Policy
from planopt_assets.model.signals import Aggregation, Exchange, Join, PythonFunction, Scan, Spill, Stage
from planopt_assets.model.workload import Objective


@dataclass(frozen=True, slots=True)
class ObservedExecution:
    """One observed execution of one binding: its counters, and the signals of its plan."""

    observation_id: str
    counters: Counters
    exchanges: tuple[Exchange, ...]
    scans: tuple[Scan, ...]
    joins: tuple[Join, ...] = ()
    aggregations: tuple[Aggregation, ...] = ()
    spills: tuple[Spill, ...] = ()
    stages: tuple[Stage, ...] = ()
    functions: tuple[PythonFunction, ...] = ()
    plan_dependent: tuple[str, ...] = ()  # what in the query another plan may answer in another way
    effective_rules: tuple[str, ...] | None = None  # optimizer rules that changed the plan; None: not recorded


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that decide knows about a query. Rebuilt from stored rows, it gives the same decision."""

    query_id: str
    query_fingerprint: str
    input_fingerprint: str
    plan_fingerprint: str
    policy: Policy  # in force while observing
    settings: tuple[tuple[str, str], ...]  # effective values of the catalogue's knobs, and `cores`
    executions: tuple[ObservedExecution, ...]  # one per binding
    runs_per_day: float
    objective: Objective = "cpu"  # the metric that a better plan lowers
    prices: Prices = GIVEN  # of work in this environment

    @property
    def cores(self) -> int:
        return int(dict(self.settings)["cores"])

    def setting(self, name: str) -> str:
        return dict(self.settings)[name]

    @property
    def observation_ids(self) -> tuple[str, ...]:
        return tuple(e.observation_id for e in self.executions)
