"""One experiment: a query's baseline and its candidates, run in interleaved rounds until each is settled."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planopt_assets.errors import PlanoptError, QueryTimedOut
from planopt_assets.model.candidate import Candidate
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.trial import Digest, Trial
from planopt_assets.model.verdict import Criterion, Outcome, Verdict
from planopt_assets.validate.equality import compare
from planopt_assets.validate.judge import Pair, Rules, judge, results_equal
from planopt_assets.validate.schedule import round_order

if TYPE_CHECKING:
    from planopt_assets.engine.workspace import Workspace
    from planopt_assets.model.workload import Query

Clock = Callable[[], float]
TIMEOUT_FACTOR, TIMEOUT_FLOOR_S = 2.0, 10.0
VARIES = "the query's own result varies from run to run"


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate with its verdict and the trials it rests on, the baseline's among them."""

    candidate: Candidate
    verdict: Verdict
    trial_ids: tuple[str, ...]


class Experiment:
    """Round 0 warms up and is never counted; every execution of every round is checked for the same result."""

    def __init__(
        self,
        workspace: Workspace,
        query: Query,
        candidates: list[Candidate],
        observed: list[Digest],
        *,
        trial_prefix: str,
        run_deadline: float,
        observed_wall_s: Sequence[float] = (),
        rules: Rules | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self.trials: list[Trial] = []
        self._workspace, self._query, self._observed = workspace, query, observed
        self._policies = {c.policy.id: c.policy for c in candidates} | {ORIGINAL.id: ORIGINAL}
        self._candidates = candidates
        self._observed_wall_s = dict(enumerate(observed_wall_s))
        self._prefix, self._rules, self._clock = trial_prefix, rules or Rules(), clock
        self._deadline = min(run_deadline, clock() + workspace.workload.budgets.per_query)
        self._spent = dict.fromkeys(self._policies, 0.0)
        self._settled: dict[str, Verdict] = {}

    def run(self) -> list[Judged]:
        number = 0
        while self._open():
            arms = [ORIGINAL.id, *self._open()]
            order = round_order(arms, self._workspace.workload.seed, self._query.id, number)
            complete = all(self._run_arm(arm, number, position) for position, arm in enumerate(order))
            if complete:
                self._check_results(number)
            self._judge(last=number >= self._rules.max_pairs)
            number += 1
        return [Judged(c, self._settled[c.policy.id], self._trial_ids(c.policy.id)) for c in self._candidates]

    def _open(self) -> list[str]:
        return [c.policy.id for c in self._candidates if c.policy.id not in self._settled]

    def _run_arm(self, policy_id: str, number: int, position: int) -> bool:
        """Run all bindings of one arm; False when the baseline could not be run, which ends the experiment."""
        policy = self._policies[policy_id]
        for binding in range(len(self._query.bindings)):
            trial = self._execute(policy, binding, number, position)
            if trial.status == "ok":
                continue
            how = "ran out of time" if trial.status == "timed_out" else f"failed: {trial.error}"
            if self._clock() >= self._deadline:
                self._settle_open("inconclusive", "stopped by budget in the middle of an execution")
                return False
            if policy is ORIGINAL:
                self._settle_open("inconclusive", f"the query as it is {how}")
                return False
            self._settled[policy_id] = _plain("reject", f"the candidate {how}")
            break
        return True

    def _execute(self, policy: Policy, binding: int, number: int, position: int, suffix: str = "") -> Trial:
        trial = Trial(
            id=f"{self._prefix}-{policy.id[4:12]}-r{number}-b{binding}{suffix}",
            policy_id=policy.id,
            round=number,
            position=position,
            binding=binding,
            warm_up=number == 0 or suffix != "",
            status="ok",
        )
        started = self._clock()
        try:
            done = self._workspace.execute(self._query, binding, policy, timeout_s=self._timeout(policy, binding))
            trial = replace(trial, counters=done.counters, digest=done.digest)
        except QueryTimedOut as error:
            trial = replace(trial, status="timed_out", error=str(error))
        except PlanoptError as error:
            trial = replace(trial, status="failed", error=str(error))
        self._spent[policy.id] += self._clock() - started
        self.trials.append(trial)
        return trial

    def _timeout(self, policy: Policy, binding: int) -> float:
        """A candidate gets twice the slowest baseline run of its binding, never more than the budget has left."""
        left = max(1.0, self._deadline - self._clock())
        walls = [t.counters.wall_ns / 1e9 for t in self._runs(ORIGINAL.id, binding) if t.counters]
        walls += [self._observed_wall_s[binding]] if binding in self._observed_wall_s else []
        if policy is ORIGINAL or not walls:
            return left
        return min(left, max(TIMEOUT_FLOOR_S, TIMEOUT_FACTOR * max(walls)))

    def _runs(self, policy_id: str, binding: int) -> list[Trial]:
        return [t for t in self.trials if t.policy_id == policy_id and t.binding == binding]

    def _check_results(self, number: int) -> None:
        """Compare this round's results with the observation's; a control run tells varying from wrong."""
        for binding, expected in enumerate(self._observed):
            digests = {
                t.policy_id: t.digest for t in self.trials if t.round == number and t.binding == binding and t.digest
            }
            if compare(expected, digests[ORIGINAL.id])[0] == "different":
                return self._settle_open("inconclusive", VARIES)
            for policy_id in self._open():
                sameness, why = compare(expected, digests[policy_id])
                if sameness == "different":
                    control = self._execute(
                        ORIGINAL, binding, number, len(digests), suffix=f"-control-{policy_id[4:12]}"
                    )
                    if control.digest is None or compare(expected, control.digest)[0] == "different":
                        return self._settle_open("inconclusive", VARIES)
                    self._settled[policy_id] = _plain("reject", f"the result is not the same: {why}", equal=False)
        return None

    def _judge(self, *, last: bool) -> None:
        out_of_time = self._clock() >= self._deadline
        for policy_id in self._open():
            over_budget = self._spent[policy_id] >= self._workspace.workload.budgets.per_candidate
            stopped = out_of_time or over_budget
            objective = self._workspace.workload.objective
            verdict = judge(self._pairs(policy_id), objective=objective, rules=self._rules, done=last or stopped)
            if verdict is None:
                continue
            if verdict.outcome == "accept":
                verdict = self._confirmed(policy_id, verdict)
            elif verdict.outcome == "inconclusive" and stopped:
                verdict = replace(verdict, reason=f"stopped by budget: {verdict.reason}")
            self._settled[policy_id] = verdict

    def _confirmed(self, policy_id: str, verdict: Verdict) -> Verdict:
        """Before anything is accepted: rows one by one where digests are not enough (floating point, ORDER BY)."""
        policy = self._policies[policy_id]
        for binding, expected in enumerate(self._observed):
            digests = [t.digest for t in self.trials if t.binding == binding and t.digest]
            if all(d.bits == expected.bits for d in digests) and not self._workspace.promises_order(
                self._query, binding
            ):
                continue
            try:
                why = self._workspace.difference(self._query, binding, ORIGINAL, policy)
                if why and self._workspace.difference(self._query, binding, ORIGINAL, ORIGINAL):
                    return _plain("inconclusive", VARIES)
            except PlanoptError as error:
                return _plain("inconclusive", f"the results could not be compared row by row: {error}")
            if why:
                return _plain("reject", f"the result is not the same: {why}", equal=False)
        return verdict

    def _pairs(self, policy_id: str) -> list[Pair]:
        """Baseline and candidate of every counted round that both finished."""
        rounds = sorted({t.round for t in self.trials if not t.warm_up and t.policy_id == policy_id})
        bindings = range(len(self._query.bindings))
        counted = {(t.policy_id, t.round, t.binding): t.counters for t in self.trials if not t.warm_up and t.counters}
        pairs = []
        for number in rounds:
            baseline = [c for b in bindings if (c := counted.get((ORIGINAL.id, number, b)))]
            candidate = [c for b in bindings if (c := counted.get((policy_id, number, b)))]
            if len(baseline) == len(candidate) == len(bindings):
                pairs.append(Pair(tuple(baseline), tuple(candidate)))
        return pairs

    def _trial_ids(self, policy_id: str) -> tuple[str, ...]:
        return tuple(t.id for t in self.trials if t.policy_id in (policy_id, ORIGINAL.id))

    def _settle_open(self, outcome: Outcome, reason: str) -> None:
        self._settled |= {policy_id: _plain(outcome, reason) for policy_id in self._open()}


def _plain(outcome: Outcome, reason: str, *, equal: bool | None = None) -> Verdict:
    """A verdict that needed no measuring."""
    criteria: tuple[Criterion, ...] = () if equal is None else (results_equal(equal),)
    return Verdict(outcome, reason, equal, criteria, None, 0)
