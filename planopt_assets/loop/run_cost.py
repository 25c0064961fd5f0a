"""What the trials of a run may cost, before it starts: `planopt plan` prints it. Starts no Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from planopt_assets.loop.trial_hours import outside_window, trials_open_for_s
from planopt_assets.store.codecs.observing import DETAILS

if TYPE_CHECKING:
    from planopt_assets.loop.agenda import Agenda
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.workload import Workload
    from planopt_assets.store.snapshot import Snapshot

_INSTANCES = "spark.executor.instances"


@dataclass(frozen=True, slots=True)
class RunCost:
    """Of trials, in seconds on the clock. They end when the budget does; observing takes as long as it takes."""

    expected_s: float  # of policies, as far as earlier runs tell
    at_most_s: float  # what the budgets and the hours of trials allow, layouts and policies together
    executors: int | None  # None: a cluster that was never used
    not_now: str = ""  # why no trial may run at this hour
    layouts: int = 0  # tables of which layouts may be tried; nobody knows how long that takes

    @property
    def at_most_executor_s(self) -> float | None:
        return None if self.executors is None else self.at_most_s * self.executors

    def facts(self) -> dict[str, Any]:
        return {
            "expected_s": self.expected_s,
            "at_most_s": self.at_most_s,
            "executors": self.executors,
            "at_most_executor_s": self.at_most_executor_s,
            "not_now": self.not_now,
            "layouts_of_tables": self.layouts,
        }

    def describe(self) -> str:
        """
        >>> RunCost(12.3, 600.0, 2).describe()
        'trials: about 12 s, at most 600 s; on 2 executors at most 1,200 executor-seconds'
        >>> RunCost(0.0, 600.0, 1).describe(), RunCost(12.3, 600.0, 1, layouts=1).describe()
        ('trials: at most 600 s', 'trials: about 12 s, and layouts of 1 table; at most 600 s')
        """
        if self.not_now:
            return self.not_now
        about = [f"about {self.expected_s:,.0f} s"] if self.expected_s else []  # else nobody knows
        if self.layouts:
            about.append(f"{'and ' if about else ''}layouts of {self.layouts} table{'s' * (self.layouts > 1)}")
        known = ", ".join(about) + ("; " if self.layouts else ", " if about else "")
        words = f"trials: {known}at most {self.at_most_s:,.0f} s"
        if self.executors is None:
            return f"{words}; times the executors that the cluster will give"
        if self.executors == 1:
            return words
        return f"{words}; on {self.executors} executors at most {self.at_most_executor_s:,.0f} executor-seconds"


def run_cost(workload: Workload, agenda: Agenda, executors: int | None, now: datetime) -> RunCost:
    """Worked: with `per_run` 600 one query to try takes at most 600 s, and so do ten of them with layouts.

    `per_query` is no bound: it ends one experiment, and a query has as many as the run has time for. An unknown number
    of executors counts as one, so that the clock is the only limit.
    """
    held, budgets = executors or 1, workload.budgets
    tried = [item for item in agenda.items if item.may_try]
    layouts = sum(item.may_try for item in agenda.table_items)
    if not tried and not layouts:
        return RunCost(0.0, 0.0, executors)
    expected = sum(i.promise.trial_cost_ns / 1e9 + (i.confirmation_cost_s or 0.0) for i in tried)
    at_most = min(budgets.run_on(budgets.per_run, held), trials_open_for_s(workload, now))
    return RunCost(min(expected, at_most), at_most, executors, outside_window(workload, now), layouts)


def executors_held(workload: Workload, snapshot: Snapshot, standings: Mapping[str, Standing]) -> int | None:
    """One in local mode; else as many as the file asks for, or as an observation has seen last."""
    if workload.master.startswith("local[") or workload.master == "local":
        return 1
    asked = dict(workload.spark_settings).get(_INSTANCES, "")
    if asked.isdecimal():
        return int(asked)
    newest = [s.artifacts[0].observation_id for s in standings.values() if s.artifacts]
    seen = [d.executors for d in snapshot.read(DETAILS, observation_id=newest)] if newest else []
    known = [count for count in seen if count is not None]
    return known[-1] if known else None
