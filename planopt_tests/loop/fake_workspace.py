"""A workspace without Spark: every execution takes as long, and returns what, the test says; the clock is its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from planopt_assets.errors import PlanoptError, QueryOutdone, QueryTimedOut, SessionLost
from planopt_assets.loop.experiment import Experiment, Judged
from planopt_assets.model.arm import Arm
from planopt_assets.model.candidate import Candidate
from planopt_assets.model.counters import Counters
from planopt_assets.model.inputs import PinnedTable
from planopt_assets.model.plan import Plan, PlanNode
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.trial import Digest, Trial
from planopt_assets.model.workload import Budgets, Query, Workload
from planopt_assets.validate.error_budget import FULL_BUDGET, ErrorBudget
from planopt_tests.measured import MIB, counters

RIGHT = Digest(3, "exact", "bits")
WRONG = replace(RIGHT, exact="other", bits="other")
FEWER = Policy.of({"spark.sql.shuffle.partitions": "2"})
OTHER = Policy.of({"spark.sql.files.openCostInBytes": "65536"})
HALF = {ORIGINAL: 3.0, FEWER: 1.5}
SALES = PinnedTable("sales", "/data/sales", "t-1", 12)


SLIGHTLY_LESS = {"tasks": 97}  # another counter than the baseline, but hardly less work
HALF_THE_WORK = {"tasks": 10, "shuffle_write_bytes": 10 * MIB}


@dataclass(frozen=True)
class Ran:
    """One execution: how long it takes, what it returns, what else it counts, and what disturbed it."""

    seconds: float
    result: Digest = RIGHT
    counted: Mapping[str, int] | None = None  # None: the baseline, or slightly less
    disturbed: str = ""
    plan: str | None = None  # None: every policy has a plan of its own
    places: str = "abc"  # of the rows, where the query promises an order


Behaviour = Callable[[Policy, int, int], Ran | PlanoptError]  # policy, how often it ran before, binding


def costs(seconds: dict[Policy, float]) -> Behaviour:
    """Every run of a policy takes the same time and returns the right result."""
    return lambda policy, before, binding: Ran(seconds[policy])


def working(
    seconds: dict[Policy, float], counted: dict[Policy, dict[str, int]], plans: dict[Policy, str] | None = None
) -> Behaviour:
    """Every run of a policy takes the same time, counts the same and ends with the same plan."""
    return lambda policy, before, binding: Ran(
        seconds[policy], counted=counted.get(policy), plan=(plans or {}).get(policy)
    )


class FakeWorkspace:
    """What `Experiment` needs of a `Workspace`, and a record of what it asked for."""

    sessions_lost = 0

    def __init__(
        self,
        behaviour: Behaviour,
        *,
        budgets: Budgets | None = None,
        ordered: bool = False,
        differences: dict[Policy, str] | None = None,
        commits: Iterable[int] = (),
        comparing_s: float = 0.0,
        warm: bool = False,
    ) -> None:
        self.workload = Workload(
            "demo", Path("planopt.yaml"), "store", (), (), budgets=budgets or Budgets(10_000, 10_000, 10_000), seed=7
        )
        self.now = 100.0
        self.timeouts: list[tuple[Policy, float]] = []
        self.cpu_limits: list[tuple[Policy, float | None]] = []
        self.asked: list[Policy] = []  # policies whose rows were compared one by one
        self._behaviour, self._ordered, self._differences = behaviour, ordered, differences or {}
        self._runs: dict[tuple[Policy, int], int] = {}
        self._commits, self._looks, self._version = frozenset(commits), 0, 12
        self._comparing_s, self._warm = comparing_s, warm

    def clock(self) -> float:
        return self.now

    def arm(self, policy: Policy) -> Arm:
        return Arm(policy, (SALES,))

    @property
    def baseline(self) -> Arm:
        return self.arm(ORIGINAL)

    def execute(
        self,
        query: Query,
        binding: int,
        arm: Arm,
        *,
        timeout_s: float,
        in_order: bool,
        tier: str | None = None,
        cpu_limit_s: float | None = None,
    ) -> Any:
        policy = arm.policy
        before = self._runs.get((policy, binding), 0)
        self._runs[policy, binding] = before + 1
        self.timeouts.append((policy, timeout_s))
        done = self._behaviour(policy, before, binding)
        if isinstance(done, PlanoptError):
            self.now += 1
            if isinstance(done, SessionLost):
                self.sessions_lost += 1
                self._warm = False
            raise done
        self.cpu_limits.append((policy, cpu_limit_s))
        if cpu_limit_s is not None and timeout_s > cpu_limit_s < done.seconds and not done.disturbed:
            self.now += cpu_limit_s
            raise QueryOutdone("took more CPU than the baseline: stopped", fix="nothing")
        self.now += min(done.seconds, timeout_s)
        if done.seconds > timeout_s:
            raise QueryTimedOut(f"stopped after {timeout_s:.0f} s", fix="give it more time")
        counted = done.counted if done.counted is not None else {} if policy is ORIGINAL else SLIGHTLY_LESS
        return SimpleNamespace(
            counters=counters(cpu_s=done.seconds, **counted),
            digest=replace(done.result, sequence=done.places) if in_order else done.result,
            final=Plan("final", (PlanNode(0, -1, done.plan or policy.describe(), ""),), "x"),
            disturbed=done.disturbed,
        )

    def has_run(self, query: Query, arm: Arm) -> bool:
        return self._warm and arm == self.baseline

    def newest_versions(self, query: Query, arm: Arm) -> dict[str, int | None]:
        """The tables as a stranger sees them; `commits` names the looks before which somebody committed."""
        self._looks += 1
        self._version += self._looks in self._commits
        return {"sales": self._version}

    def promises_order(self, query: Query, binding: int, arm: Arm) -> bool:
        return self._ordered

    def difference(self, query: Query, binding: int, expected: Arm, actual: Arm, *, timeout_s: float) -> str:
        assert expected == self.baseline
        self.asked.append(actual.policy)
        self.now += min(self._comparing_s, timeout_s)
        if self._comparing_s > timeout_s:
            raise QueryTimedOut(f"stopped after {timeout_s:.0f} s", fix="give it more time")
        return self._differences.get(actual.policy, "")


@dataclass(frozen=True)
class Outcome:
    """What an experiment came to."""

    judged: list[Judged]
    trials: list[Trial]
    workspace: FakeWorkspace

    @property
    def verdict(self) -> Any:
        (one,) = self.judged
        return one.judgement


def candidate(policy: Policy) -> Candidate:
    return Candidate("q", policy, (), True, "the plan changes", "", "pln_1", "top_1", "inp_1")


def experiment(
    workspace: FakeWorkspace,
    *policies: Policy,
    bindings: int = 1,
    run_deadline: float = 1e9,
    rules: Any = None,
    observed_wall_s: tuple[float, ...] = (),
    arm_of: Callable[[Candidate], Arm] | None = None,
    observed: Digest = RIGHT,
    error: ErrorBudget | None = FULL_BUDGET,
    baseline: Arm | None = None,
    look: Any = None,
    in_force: Policy = ORIGINAL,
    original: tuple[Counters, ...] = (),
    first: Policy = ORIGINAL,
) -> Outcome:
    """Run the baseline against these policies."""
    query = Query("q", sql="SELECT 1", bindings=((),) * bindings)
    trials = Experiment(
        workspace,  # type: ignore[arg-type]
        query,
        [candidate(p) for p in policies],
        [observed] * bindings,
        trial_prefix="tri-run-q",
        run_deadline=run_deadline,
        observed_wall_s=observed_wall_s,
        rules=rules,
        clock=workspace.clock,
        arm_of=arm_of,
        error=error,
        baseline=baseline,
        look=look,
        in_force=in_force,
        original=original,
        first=first,
    )
    return Outcome(trials.run(), trials.trials, workspace)


def timeouts(outcome: Outcome, policy: Policy) -> list[float]:
    """What each run of a policy was given."""
    return [seconds for asked, seconds in outcome.workspace.timeouts if asked is policy]


def rounds_of(outcome: Outcome) -> dict[int, list[Policy]]:
    """The arms of every round in the order they ran, control runs left out."""
    policies = {p.id: p for p in (ORIGINAL, FEWER, OTHER, FEWER.merged(OTHER))}
    found: dict[int, list[Policy]] = {}
    for trial in outcome.trials:
        if "-control" not in trial.id:
            found.setdefault(trial.round, []).append(policies[trial.policy_id])
    return found
