"""One experiment: candidates race against the query as it is, in interleaved rounds, until each is settled."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planopt_assets.errors import PlanoptError, QueryHangs, QueryTimedOut
from planopt_assets.model.candidate import Candidate
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.trial import Digest, Trial
from planopt_assets.model.verdict import Criterion, Judgement, Outcome
from planopt_assets.observe.plans.fingerprint import topology_hash
from planopt_assets.validate.budget import Budget, Clock
from planopt_assets.validate.equality import compare
from planopt_assets.validate.judge import judge, results_equal
from planopt_assets.validate.judge_rules import Rules
from planopt_assets.validate.ledger import Ledger
from planopt_assets.validate.race import next_runners, outrun, time_limit
from planopt_assets.validate.round_order import round_order
from planopt_assets.validate.work import work_ns

if TYPE_CHECKING:
    from planopt_assets.engine.workspace import Workspace
    from planopt_assets.model.workload import Query

VARIES = "the query's own result varies from run to run"
STOPPED = "stopped by budget"
FEW_ROWS = 10_000  # of a result: their hashes come to the driver while the clock runs, within 30 ms


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate with its verdict, the trials it rests on (the baseline's among them), and all executions spent."""

    candidate: Candidate
    judgement: Judgement
    trial_ids: tuple[str, ...]
    executions: int


class Experiment:
    """The first run of a policy warms it up: its work tells who leads the race, its clocks never count.

    Every execution of every round is checked for the same result.
    """

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
        self._ledger = Ledger(len(query.bindings))
        self._workspace, self._query, self._observed = workspace, query, observed
        self._policies = {c.policy.id: c.policy for c in candidates} | {ORIGINAL.id: ORIGINAL}
        self._candidates = candidates
        self._observed_wall_s = dict(enumerate(observed_wall_s))
        self._prefix, self._rules = trial_prefix, rules or Rules()
        self._budget = Budget(workspace.workload.budgets, run_deadline, clock)
        self._compared = dict.fromkeys(self._policies, 0)  # executions for row-by-row comparisons
        self._settled: dict[str, Judgement] = {}
        self._in_order: dict[int, bool] = {}
        self._first_work: dict[str, int] = {}  # of every policy that ran, in its first run
        self._disturbed = 0  # rounds in a row

    @property
    def trials(self) -> list[Trial]:
        return self._ledger.trials

    def run(self) -> list[Judged]:
        number = 0
        while self._open():
            before = self._workspace.newest_versions(self._query)
            arms, warm_up = self._arms(number)
            if all(self._run_arm(arm, number, position, warm_up) for position, arm in enumerate(arms)):
                self._check_results(number)
                self._check_tables(number, before, warm_up)
            self._judge(self._open())
            number += 1
        return [self._judged(c) for c in self._candidates]

    def _arms(self, number: int) -> tuple[list[str], bool]:
        """The policies of the next round in their order, and whether it is their first run."""
        runners = [p.id for p in next_runners([self._policies[p] for p in self._open()], self._first_work)]
        if any(policy_id not in self._first_work for policy_id in runners):
            # The query as it is goes first: what a cold JVM takes then counts for the time candidates are given. Where
            # this session has observed it, it is warm.
            cold = number == 0 and not self._workspace.has_run(self._query)
            return ([ORIGINAL.id] if cold else []) + runners, True
        return round_order([ORIGINAL.id, *runners], self._workspace.workload.seed, self._query.id, number), False

    def _judged(self, candidate: Candidate) -> Judged:
        policy_id = candidate.policy.id
        trial_ids = self._ledger.ids(policy_id)
        return Judged(candidate, self._settled[policy_id], trial_ids, len(trial_ids) + self._compared[policy_id])

    def _open(self) -> list[str]:
        return [c.policy.id for c in self._candidates if c.policy.id not in self._settled]

    def _run_arm(self, policy_id: str, number: int, position: int, warm_up: bool) -> bool:
        """Run all bindings of one arm; False when the experiment cannot go on: no baseline, or no time."""
        policy, work = self._policies[policy_id], 0
        for binding in range(len(self._query.bindings)):
            for again in range(self._rules.repeats + 1):
                if self._budget.left(policy_id) <= 0:
                    return self._stop(policy_id)
                suffix = f"-again{again}" if again else ""
                trial, how = self._execute(policy, binding, number, position, suffix, warm_up=warm_up)
                if trial.status != "tainted" or trial.warm_up:  # a disturbed warm-up has warmed up
                    break
            if trial.status == "ok" or (trial.warm_up and trial.status == "tainted"):
                work += work_ns(trial.counters) if trial.counters else 0
                continue
            if trial.status == "timed_out" and self._budget.left(policy_id) <= 0:
                return self._stop(policy_id)
            if policy is ORIGINAL:
                self._settle_open("inconclusive", f"the query as it is {how}")
                return False
            outcome: Outcome = "inconclusive" if trial.status == "tainted" else "reject"
            self._settled[policy_id] = _plain(outcome, f"the candidate {how}")
            break
        self._first_work.setdefault(policy_id, work)
        return True

    def _stop(self, policy_id: str) -> bool:
        """The budget ended before or in the middle of an execution: judge what there is; True if others may go on."""
        everybody = self._budget.gone
        self._judge(self._open() if everybody else [policy_id], stopped=True)
        return not everybody

    def _execute(
        self, policy: Policy, binding: int, number: int, position: int, suffix: str, *, warm_up: bool
    ) -> tuple[Trial, str]:
        """One execution, and in words what went wrong with it."""
        trial = Trial(
            id=f"{self._prefix}-{policy.id[4:12]}-r{number}-b{binding}{suffix}",
            policy_id=policy.id,
            round=number,
            position=position,
            binding=binding,
            warm_up=warm_up,
            status="ok",
        )
        how = ""
        with self._budget.charged(policy.id):
            try:
                done = self._workspace.execute(
                    self._query,
                    binding,
                    policy,
                    timeout_s=self._timeout(policy, binding),
                    in_order=self._shows_order(binding),
                )
                shape = topology_hash(done.final)
                trial = replace(trial, counters=done.counters, digest=done.digest, topology_hash=shape)
                if done.disturbed:
                    trial = replace(trial, status="tainted", error=done.disturbed)
                    how = f"was disturbed {self._rules.repeats + 1} times in a row: {done.disturbed}"
            except QueryTimedOut as error:
                trial = replace(trial, status="timed_out", error=str(error))
                how = error.what.partition(":")[0] if isinstance(error, QueryHangs) else "ran out of time"
            except PlanoptError as error:
                trial = replace(trial, status="failed", error=str(error))
                how = f"failed: {trial.error}"
        self._ledger.add(trial)
        return trial, how

    def _timeout(self, policy: Policy, binding: int) -> float:
        """A candidate gets twice the slowest baseline run of its binding, never more than the budget has left."""
        walls = self._ledger.walls(binding)
        walls += [self._observed_wall_s[binding]] if binding in self._observed_wall_s else []
        limit = None if policy is ORIGINAL else time_limit(walls, self._rules)
        left = self._budget.left(policy.id)
        return left if limit is None else min(left, limit)

    def _check_results(self, number: int) -> None:
        """Compare this round's results with the observation's; a control run tells varying from wrong."""
        for binding, expected in enumerate(self._observed):
            ran = self._ledger.of_round(number, binding)
            found = {t.id: compare(expected, t.digest) for t in ran if t.digest}
            different = {t.policy_id: found[t.id][1] for t in ran if found[t.id][0] == "different"}
            if ORIGINAL.id in different:
                return self._settle_open("inconclusive", VARIES)
            for policy_id in [p for p in self._open() if p in different]:
                suffix = f"-control-{policy_id[4:12]}"
                control, how = self._execute(ORIGINAL, binding, number, len(ran), suffix, warm_up=True)
                why = f"the result is not the same: {different[policy_id]}"
                if control.digest is None:
                    unsure = f"{why}; the query as it is {how} when it was run once more to compare"
                    self._settled[policy_id] = _plain("inconclusive", unsure)
                elif compare(expected, control.digest)[0] == "different":
                    return self._settle_open("inconclusive", VARIES)
                else:
                    self._settled[policy_id] = _plain("reject", why, equal=False)
        return None

    def _check_tables(self, number: int, before: dict[str, int | None], warm_up: bool) -> None:
        """A commit to a table that is read changes no result, for versions are pinned; but it takes disk and cores."""
        after = self._workspace.newest_versions(self._query)
        moved = [f"table {name} was committed to" for name in after if after[name] != before.get(name)]
        if not moved or warm_up:
            self._disturbed = 0
            self._ledger.count(number)
            return
        self._ledger.taint(number, moved[0])
        self._disturbed += 1
        if self._disturbed > self._rules.repeats:
            self._settle_open("inconclusive", f"disturbed in {self._disturbed} rounds in a row: {moved[0]}")

    def _judge(self, policy_ids: Sequence[str], *, stopped: bool = False) -> None:
        """Ask the judge about open candidates; one that is out of time gets its last word."""
        for policy_id in policy_ids:
            over = stopped or self._budget.left(policy_id) <= 0
            pairs = self._ledger.pairs(policy_id)
            if not pairs and not over:
                continue  # it is waiting
            verdict = judge(
                pairs,
                objective=self._workspace.workload.objective,
                rules=self._rules,
                done=over or len(pairs) >= self._rules.max_pairs,
            )
            if verdict is not None and verdict.outcome == "accept":
                verdict = self._confirmed(policy_id, verdict)
            elif verdict is not None and verdict.outcome == "inconclusive" and over:
                verdict = replace(verdict, reason=f"{STOPPED}: {verdict.reason}")
            if verdict is not None:
                self._settled[policy_id] = verdict
        for winner in [p for p, v in self._settled.items() if v.outcome == "accept"]:
            for policy_id in self._open():
                if reason := outrun(self._policies[policy_id], self._policies[winner]):
                    self._settled[policy_id] = _plain("inconclusive", reason)

    def _confirmed(self, policy_id: str, verdict: Judgement) -> Judgement:
        """Before anything is accepted: rows one by one where digests are not enough (floating point, ties)."""
        policy = self._policies[policy_id]
        for binding, expected in enumerate(self._observed):
            digests = [t.digest for t in self._ledger.of(policy_id, binding) if t.digest]
            same_bits = all(digest.bits == expected.bits for digest in digests)
            same_places = self._shows_order(binding) and len({digest.sequence for digest in digests}) == 1
            if same_bits and (same_places or not self._workspace.promises_order(self._query, binding)):
                continue
            try:
                why = self._difference(binding, policy, charged=policy)
                if why and self._difference(binding, ORIGINAL, charged=policy):
                    return _plain("inconclusive", VARIES)
            except QueryTimedOut:
                return _plain("inconclusive", f"{STOPPED}: the results could not be compared row by row")
            except PlanoptError as error:
                return _plain("inconclusive", f"the results could not be compared row by row: {error}")
            if why:
                return _plain("reject", f"the result is not the same: {why}", equal=False)
        return verdict

    def _shows_order(self, binding: int) -> bool:
        """Whether every trial tells the place of every row: the query promises an order, of not too many rows."""
        if binding not in self._in_order:
            few = self._observed[binding].rows <= FEW_ROWS
            self._in_order[binding] = few and self._workspace.promises_order(self._query, binding)
        return self._in_order[binding]

    def _difference(self, binding: int, policy: Policy, *, charged: Policy) -> str:
        left = self._budget.left(charged.id)
        if left <= 0:
            raise QueryTimedOut("no time left", where=self._query.id, fix="raise the budget")
        self._compared[charged.id] += 2
        with self._budget.charged(charged.id):
            return self._workspace.difference(self._query, binding, ORIGINAL, policy, timeout_s=left)

    def _settle_open(self, outcome: Outcome, reason: str) -> None:
        self._settled |= {policy_id: _plain(outcome, reason) for policy_id in self._open()}


def _plain(outcome: Outcome, reason: str, *, equal: bool | None = None) -> Judgement:
    """A verdict that needed no measuring."""
    criteria: tuple[Criterion, ...] = () if equal is None else (results_equal(equal),)
    return Judgement(outcome, reason, equal, criteria, None, 0)
