"""Runs of arms in one experiment: each has a time limit, is charged to its arm, and ends as a trial in the ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from planopt_assets.errors import PlanoptError, QueryHangs, QueryOutdone, QueryTimedOut, SparkFailed
from planopt_assets.model.trial import Trial
from planopt_assets.observe.plans.fingerprint import topology_hash
from planopt_assets.validate.budget import Budget, Clock
from planopt_assets.validate.judge_rules import Rules
from planopt_assets.validate.ledger import Ledger
from planopt_assets.validate.race import outdone_limit, time_limit

if TYPE_CHECKING:
    from planopt_assets.engine.execution.execute import Measured
    from planopt_assets.engine.workspace import Workspace
    from planopt_assets.model.arm import Arm
    from planopt_assets.model.signals import Signals
    from planopt_assets.model.workload import Budgets, Query

Look = Callable[["Arm", "Measured"], "Signals"]
"""What a captured execution of an arm shows of its plan."""

FEW_ROWS = 10_000  # of a result: their hashes come to the driver while the clock runs, within 30 ms
BUSY = 1.25  # times the slowest run of the baseline so far: then its time limits were set on another machine
OUT_OF_TIME = "ran out of time"


class TrialRuns:
    """Ledger and budget of an experiment, and the only place that adds to either."""

    def __init__(
        self,
        workspace: Workspace,
        query: Query,
        rules: Rules,
        *,
        trial_prefix: str,
        run_deadline: float,
        observed_rows: Sequence[int],
        observed_wall_s: Sequence[float],
        clock: Clock,
        baseline: Arm | None = None,
        budgets: Budgets | None = None,
        look: Look | None = None,
    ) -> None:
        self.workspace, self.query, self.baseline = workspace, query, baseline or workspace.baseline
        self.ledger = Ledger(len(query.bindings), self.baseline.id)
        limits = budgets or workspace.workload.budgets
        held = 1 if limits.executor_seconds_per_query is None else workspace.executor_count
        self.budget = Budget(limits, run_deadline, clock, self.baseline.id, executors=held)
        self.compared: dict[str, int] = {}  # executions for row-by-row comparisons, by arm
        self._rules, self._prefix = rules, trial_prefix
        self._observed_rows, self._observed_wall_s = tuple(observed_rows), tuple(observed_wall_s)
        self._in_order: dict[int, bool] = {}
        self._promised: dict[int, bool] = {}
        self._look = look

    def execute(
        self, arm: Arm, binding: int, number: int, position: int, suffix: str, *, warm_up: bool
    ) -> tuple[Trial, str]:
        """One execution, and in words what went wrong with it."""
        trial, how = self._once(arm, binding, number, position, suffix, warm_up=warm_up)
        if how == OUT_OF_TIME and arm != self.baseline and self.budget.left(arm.id) > 0:
            trial, how = self._unless_busy(trial, how)
        self.ledger.add(arm.id, trial)
        return trial, how

    def _unless_busy(self, late: Trial, how: str) -> tuple[Trial, str]:
        """A time limit from an idle machine ends every run on a busy one. So the baseline runs once more, now.

        Worked: the baseline took 5 s, so a candidate has 10 s. It is ended there, and the baseline takes 9 s now: the
        candidate says nothing, is disturbed, and has 18 s the next time. If the baseline takes 5 s again, the candidate
        is too slow.
        """
        slowest = max(self._walls(late.binding), default=0.0)
        asked = (self.baseline, late.binding, late.round, late.position, f"-after-{late.id.rpartition('-r')[2]}")
        now, _ = self._once(*asked, warm_up=True)
        self.ledger.add(self.baseline.id, now)
        if now.counters is None or now.counters.wall_ns / 1e9 < BUSY * slowest:
            return late, how
        seconds = f"{slowest:.1f} s before and {now.counters.wall_ns / 1e9:.1f} s now"
        words = f"{OUT_OF_TIME} on a busy machine: the baseline took {seconds}"
        return replace(late, status="tainted", error=words), words

    def _once(
        self, arm: Arm, binding: int, number: int, position: int, suffix: str, *, warm_up: bool
    ) -> tuple[Trial, str]:
        trial = Trial(
            id=f"{self._prefix}-{self.short(arm)}-r{number}-b{binding}{suffix}",
            policy_id=arm.policy.id,
            round=number,
            position=position,
            binding=binding,
            warm_up=warm_up,
            status="ok",
        )
        how = ""
        with self.budget.charged(arm.id):
            try:
                looked = self._look if warm_up and arm != self.baseline else None  # no clock of it counts
                done = self.workspace.execute(
                    *(self.query, binding, arm),
                    timeout_s=self._timeout(arm, binding, warm_up),
                    cpu_limit_s=self._cpu_limit(arm, binding, warm_up),
                    in_order=self.shows_order(binding),
                    tier="always_on" if looked else None,
                )
                shape, signals = topology_hash(done.final), looked(arm, done) if looked else None
                trial = replace(trial, counters=done.counters, digest=done.digest, topology_hash=shape, signals=signals)
                if done.disturbed:
                    trial = replace(trial, status="tainted", error=done.disturbed)
                    how = f"was disturbed {self._rules.repeats + 1} times in a row: {done.disturbed}"
            except QueryTimedOut as error:
                trial = replace(trial, status="timed_out", error=str(error))
                told = isinstance(error, QueryHangs | QueryOutdone)
                how = error.what.partition(":")[0] if told else OUT_OF_TIME
            except SparkFailed:
                raise  # no new session after one was lost: that is no arm's doing
            except PlanoptError as error:
                trial = replace(trial, status="failed", error=str(error))
                how = f"failed: {trial.error}"
        return trial, how

    def difference(self, binding: int, arm: Arm, *, charged: Arm) -> str:
        """How the rows of an arm differ from the baseline's, one by one; empty if they do not."""
        left = self.budget.left(charged.id)
        if left <= 0:
            raise QueryTimedOut("no time left", where=self.query.id, fix="raise the budget")
        self.compared[charged.id] = self.compared.get(charged.id, 0) + 2
        with self.budget.charged(charged.id):
            return self.workspace.difference(self.query, binding, self.baseline, arm, timeout_s=left)

    def shows_order(self, binding: int) -> bool:
        """Whether every trial tells the place of every row: the query promises an order, of not too many rows."""
        if binding not in self._in_order:
            few = self._observed_rows[binding] <= FEW_ROWS
            self._in_order[binding] = few and self.promises_order(binding)
        return self._in_order[binding]

    def promises_order(self, binding: int) -> bool:
        """Planned once: a plan tells, and planning a query of Delta tables is not free."""
        if binding not in self._promised:
            self._promised[binding] = self.workspace.promises_order(self.query, binding, self.baseline)
        return self._promised[binding]

    def short(self, arm: Arm) -> str:
        """What trials of an arm have in their ids: its policy, and its tables where they are not the baseline's."""
        tables = "" if arm.tables == self.baseline.tables else f"-{arm.id[4:12]}"
        return arm.policy.id[4:12] + tables

    def _timeout(self, arm: Arm, binding: int, warm_up: bool) -> float:
        """A candidate gets twice the slowest baseline run of its binding, never more than the budget has left.

        Where the clock is the objective, a counted run gets less: once it is outdone, the rest is wasted. Only runs of
        the baseline tell that; the observation was one of original, on a colder JVM.
        """
        ran, walls = self.ledger.walls(binding), self._walls(binding)
        limits: list[float | None] = [self.budget.left(arm.id)]
        if arm != self.baseline:
            by_clock = self.workspace.workload.objective == "latency" and not warm_up
            limits += [time_limit(walls, self._rules), outdone_limit(ran, self._rules) if by_clock else None]
        return min(limit for limit in limits if limit is not None)

    def _walls(self, binding: int) -> list[float]:
        """Of the baseline: its runs in this experiment, and the one that was observed."""
        return [*self.ledger.walls(binding), *self._observed_wall_s[binding : binding + 1]]

    def _cpu_limit(self, arm: Arm, binding: int, warm_up: bool) -> float | None:
        """CPU at which a counted run of a candidate is outdone, where CPU is the objective. None: it has none."""
        if arm == self.baseline or warm_up or self.workspace.workload.objective != "cpu":
            return None
        return outdone_limit(self.ledger.cpus(binding), self._rules)
