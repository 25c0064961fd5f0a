"""One simulated experiment: the real race and judge, on executions whose true cost is known."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.year_noise import Clocks, Noise
from planopt_assets.loop.same_results import unmeasured
from planopt_assets.model.arm import Arm
from planopt_assets.model.counters import Counters
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.verdict import Gain, Judgement
from planopt_assets.model.workload import Objective
from planopt_assets.validate.error_budget import ErrorBudget
from planopt_assets.validate.judge import judge
from planopt_assets.validate.judge_rules import Rules
from planopt_assets.validate.original_limits import within_original
from planopt_assets.validate.pairs import Pair
from planopt_assets.validate.race import looked_error, next_runners, outdone_limit, outrun, too_small_a_part
from planopt_assets.validate.round_order import round_order

_SECOND = 1_000_000_000
_QUIET = dict.fromkeys(Counters.names(), 0) | {"cpu_ns": 3 * _SECOND, "wall_ns": 3 * _SECOND, "tasks": 100}


@dataclass(frozen=True, slots=True)
class Truth:
    """What a candidate really is: its cost relative to the baseline, and what its counters show."""

    cpu: float = 1.0
    wall: float = 1.0
    bytes: float = 1.0
    tasks: int = 50  # of 100: half the work, whatever the clocks say

    def counters(self, clocks: Clocks) -> Counters:
        scanned = round(100 * (1 << 20) * self.bytes)
        taken = {"cpu_ns": round(3e9 * self.cpu * clocks[0]), "wall_ns": round(3e9 * self.wall * clocks[1])}
        return Counters(**{**_QUIET, **taken, "tasks": self.tasks, "scan_bytes": scanned})

    def beyond(self, base: Truth) -> Truth:
        """The same change on top of another one, relative to original.

        >>> Truth(0.9, 1.0).beyond(Truth(0.5, 0.6))
        Truth(cpu=0.45, wall=0.6, bytes=1.0, tasks=25)
        """
        tasks = self.tasks * base.tasks // BASELINE.tasks
        return Truth(self.cpu * base.cpu, self.wall * base.wall, self.bytes * base.bytes, tasks)


BASELINE = Truth(tasks=100)
_RULES = Rules()
_ORIGINAL = BASELINE.counters((1.0, 1.0))  # as observed: its counters repeat


@dataclass(frozen=True, slots=True)
class Tried:
    """What an experiment came to for one candidate."""

    policy: Policy
    judgement: Judgement
    executions: int
    available: float = 0.0
    spent: float = 0.0

    def after(self, before: Gain | None) -> Tried:
        """What it brought beyond a policy counts for both together, as `loop/stages/validate.py` stores it."""
        gain = self.judgement.gain.after(before) if self.judgement.gain and before else None
        return replace(self, judgement=replace(self.judgement, gain=gain))


def race(
    truths: Mapping[Policy, Truth],
    noise: Noise,
    objective: Objective,
    budget: ErrorBudget,
    draw: random.Random,
    baseline: Truth = BASELINE,
    rules: Rules = _RULES,
) -> list[Tried]:
    """All candidates against the baseline, as `loop/experiment.py` does it: first runs, then the best one in pairs."""
    clocks, seed = noise(draw), draw.randrange(1 << 30)
    waiting, work, found = [Arm(p) for p in truths], dict[str, int](), list[Tried]()
    while waiting:
        runners = next_runners(waiting, work)
        if any(arm.id not in work for arm in runners):
            for arm in runners:
                work[arm.id] = truths[arm.policy].tasks
                next(clocks)
            continue
        (arm,) = runners
        waiting.remove(arm)
        within = rules.within(budget.available)
        sides = (baseline, truths[arm.policy])
        tried = _in_pairs(arm.policy, sides, clocks, objective, within, seed, shown=False)
        budget = budget.after(tried.spent)
        found.append(tried)
        waiting = [other for other in waiting if not not_needed(other, arm, tried.judgement)]
    return found


def not_needed(waiting: Arm, settled: Arm, verdict: Judgement) -> str:
    """Why a candidate need not run after another was settled, as in `loop/experiment.py`. Empty if it may."""
    if verdict.outcome == "accept":
        return outrun(waiting, settled)
    return too_small_a_part(waiting, settled, verdict, _RULES)


def confirm(policy: Policy, truth: Truth, noise: Noise, objective: Objective, draw: random.Random) -> Tried:
    """The policy in force against original, on a later night."""
    rules = Rules()
    clocks = noise(draw)
    next(clocks)
    within = rules.within(rules.confirmation_error)
    return _in_pairs(policy, (BASELINE, truth), clocks, objective, within, draw.randrange(1 << 30), shown=True)


def _in_pairs(
    policy: Policy,
    sides: tuple[Truth, Truth],
    clocks: Iterator[Clocks],
    objective: Objective,
    rules: Rules,
    seed: int,
    *,
    shown: bool,
) -> Tried:
    pairs: list[Pair] = []
    while True:
        order = round_order([ORIGINAL.id, policy.id], seed, "q", len(pairs) + 1)
        pairs.append(_pair(dict(zip((ORIGINAL.id, policy.id), sides, strict=True)), clocks, order))
        if words := _outdone(pairs, objective, rules):
            return Tried(policy, unmeasured("reject", words), 1 + 2 * len(pairs), rules.error)
        done = len(pairs) >= rules.max_pairs
        verdict = judge(pairs, objective=objective, rules=rules, done=done, shown=shown)
        if verdict is not None:
            verdict = within_original(verdict, pairs, () if sides[0] == BASELINE else (_ORIGINAL,), rules)
            spent = looked_error(len(pairs), rules, done=done) if verdict.gain else 0.0
            return Tried(policy, verdict, 1 + 2 * len(pairs), rules.error, 0.0 if shown else spent)


def _outdone(pairs: Sequence[Pair], objective: Objective, rules: Rules) -> str:
    """Whether the last run of the candidate was stopped, as `loop/trial_runs.py` does it."""
    metric = {"cpu": "cpu_ns", "latency": "wall_ns"}.get(objective)
    if metric is None:
        return ""
    limit = outdone_limit([p.totals(metric)[0] / _SECOND for p in pairs], rules)
    return "outdone" if limit is not None and pairs[-1].totals(metric)[1] / _SECOND > limit else ""


def _pair(sides: Mapping[str, Truth], clocks: Iterator[Clocks], order: Sequence[str]) -> Pair:
    """The baseline is named first, whatever it is."""
    ran = {name: sides[name].counters(next(clocks)) for name in order}
    baseline, candidate = (ran[name] for name in sides)
    return Pair((baseline,), (candidate,))
