"""One experiment: the arms of candidates race against the baseline, in interleaved rounds, until each is settled."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planopt_assets.errors import PlanoptError, QueryHangs, QueryTimedOut, SparkFailed
from planopt_assets.model.candidate import Candidate
from planopt_assets.model.trial import DIGEST_FORM, Digest, Trial
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
    from planopt_assets.model.arm import Arm
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
    """The first run of an arm warms it up: its work tells who leads the race, its clocks never count.

    Every execution of every round is checked for the same result. `arm_of` gives a candidate's arm; without it, its
    policy over the tables of the baseline.
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
        arm_of: Callable[[Candidate], Arm] | None = None,
    ) -> None:
        self._baseline = workspace.baseline
        self._ledger = Ledger(len(query.bindings), self._baseline.id)
        self._workspace, self._query, self._observed = workspace, query, list(observed)
        self._contenders = [(c, arm_of(c) if arm_of else workspace.arm(c.policy)) for c in candidates]
        self._arms = {arm.id: arm for arm in (self._baseline, *(arm for _, arm in self._contenders))}
        self._observed_wall_s = dict(enumerate(observed_wall_s))
        self._prefix, self._rules = trial_prefix, rules or Rules()
        self._budget = Budget(workspace.workload.budgets, run_deadline, clock, self._baseline.id)
        self._compared = dict.fromkeys(self._arms, 0)  # executions for row-by-row comparisons
        self._settled: dict[str, Judgement] = {}
        self._in_order: dict[int, bool] = {}
        self._first_work: dict[str, int] = {}  # of every arm that ran, in its first run
        self._disturbed = 0  # rounds in a row
        self.stranded: SparkFailed | None = None  # a session was lost, and no new one starts

    @property
    def trials(self) -> list[Trial]:
        return self._ledger.trials

    def run(self) -> list[Judged]:
        """Verdicts on all candidates; only on those settled before where no session is left to try the others."""
        number = 0
        try:
            while self._open():
                self._run_round(number)
                number += 1
        except SparkFailed as error:
            self.stranded = error
        return [self._judged(candidate, arm) for candidate, arm in self._contenders if arm.id in self._settled]

    def _run_round(self, number: int) -> None:
        """A round in which the session was lost is not counted: its arms ran in two JVMs, and the new one is cold."""
        before, lost = self._newest_versions(), self._workspace.sessions_lost
        arms, warm_up = self._round(number)
        complete = all(self._run_arm(self._arms[a], number, position, warm_up) for position, a in enumerate(arms))
        if complete or self._workspace.sessions_lost > lost:
            self._renew_outdated(number)
            self._check_results(number)
        if complete and self._workspace.sessions_lost == lost:
            self._check_tables(number, before, warm_up)
        self._judge(self._open())
        if self._workspace.sessions_lost > lost:
            self._first_work.clear()

    def _round(self, number: int) -> tuple[list[str], bool]:
        """The arms of the next round in their order, and whether it is their first run in this session."""
        runners = [arm.id for arm in next_runners([self._arms[a] for a in self._open()], self._first_work)]
        if any(arm_id not in self._first_work for arm_id in runners):
            # The baseline goes first: what a cold JVM takes then counts for the time candidates are given. Where
            # this session has observed it, it is warm.
            cold = not self._first_work and (self._outdated or not self._workspace.has_run(self._query))
            return ([self._baseline.id] if cold else []) + runners, True
        return round_order([self._baseline.id, *runners], self._workspace.workload.seed, self._query.id, number), False

    def _judged(self, candidate: Candidate, arm: Arm) -> Judged:
        trial_ids = self._ledger.ids(arm.id)
        return Judged(candidate, self._settled[arm.id], trial_ids, len(trial_ids) + self._compared[arm.id])

    def _open(self) -> list[str]:
        return [arm.id for _, arm in self._contenders if arm.id not in self._settled]

    def _run_arm(self, arm: Arm, number: int, position: int, warm_up: bool) -> bool:
        """Run all bindings of one arm; False when the round cannot go on: no baseline, no time, or another session."""
        work, lost = 0, self._workspace.sessions_lost
        for binding in range(len(self._query.bindings)):
            for again in range(self._rules.repeats + 1):
                if self._budget.left(arm.id) <= 0:
                    return self._stop(arm.id)
                suffix = f"-again{again}" if again else ""
                trial, how = self._execute(arm, binding, number, position, suffix, warm_up=warm_up)
                if trial.status != "tainted" or trial.warm_up:  # a disturbed warm-up has warmed up
                    break
            if trial.status == "ok" or (trial.warm_up and trial.status == "tainted"):
                work += work_ns(trial.counters) if trial.counters else 0
                continue
            if trial.status == "timed_out" and self._budget.left(arm.id) <= 0:
                return self._stop(arm.id)
            if arm == self._baseline:
                self._settle_open("inconclusive", f"the baseline {how}")
                return False
            outcome: Outcome = "inconclusive" if trial.status == "tainted" else "reject"
            self._settled[arm.id] = _plain(outcome, f"the candidate {how}")
            if self._workspace.sessions_lost > lost:
                return False  # the others would meet a cold JVM
            break
        self._first_work.setdefault(arm.id, work)
        return True

    def _stop(self, arm_id: str) -> bool:
        """The budget ended before or in the middle of an execution: judge what there is; True if others may go on."""
        everybody = self._budget.gone
        self._judge(self._open() if everybody else [arm_id], stopped=True)
        return not everybody

    def _execute(
        self, arm: Arm, binding: int, number: int, position: int, suffix: str, *, warm_up: bool
    ) -> tuple[Trial, str]:
        """One execution, and in words what went wrong with it."""
        trial = Trial(
            id=f"{self._prefix}-{self._short(arm)}-r{number}-b{binding}{suffix}",
            policy_id=arm.policy.id,
            round=number,
            position=position,
            binding=binding,
            warm_up=warm_up,
            status="ok",
        )
        how = ""
        with self._budget.charged(arm.id):
            try:
                done = self._workspace.execute(
                    self._query,
                    binding,
                    arm,
                    timeout_s=self._timeout(arm, binding),
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
            except SparkFailed:
                raise  # no new session after one was lost: that is no arm's doing
            except PlanoptError as error:
                trial = replace(trial, status="failed", error=str(error))
                how = f"failed: {trial.error}"
        self._ledger.add(arm.id, trial)
        return trial, how

    def _short(self, arm: Arm) -> str:
        """What trials of an arm have in their ids: its policy, and its tables where they are not the baseline's."""
        tables = "" if arm.tables == self._baseline.tables else f"-{arm.id[4:12]}"
        return arm.policy.id[4:12] + tables

    def _timeout(self, arm: Arm, binding: int) -> float:
        """A candidate gets twice the slowest baseline run of its binding, never more than the budget has left."""
        walls = self._ledger.walls(binding)
        walls += [self._observed_wall_s[binding]] if binding in self._observed_wall_s else []
        limit = None if arm == self._baseline else time_limit(walls, self._rules)
        left = self._budget.left(arm.id)
        return left if limit is None else min(left, limit)

    @property
    def _outdated(self) -> bool:
        """The query was observed by a planopt that computed digests in another way."""
        return any(digest.form != DIGEST_FORM for digest in self._observed)

    def _renew_outdated(self, number: int) -> None:
        """The baseline of the first round takes the place of digests that say nothing about today's."""
        for binding, digest in enumerate(self._observed):
            if digest.form != DIGEST_FORM:
                ran = [t.digest for a, t in self._ledger.of_round(number, binding) if a == self._baseline.id]
                self._observed[binding] = next((d for d in ran if d is not None), digest)

    def _check_results(self, number: int) -> None:
        """Compare this round's results with the observation's; a control run tells varying from wrong."""
        for binding, expected in enumerate(self._observed):
            if expected.form != DIGEST_FORM:
                continue  # the session was lost before the baseline had run; the next round looks again
            ran = self._ledger.of_round(number, binding)
            compared = [(arm_id, *compare(expected, t.digest)) for arm_id, t in ran if t.digest]
            different = {arm_id: why for arm_id, same, why in compared if same == "different"}
            if self._baseline.id in different:
                return self._settle_open("inconclusive", VARIES)
            for arm_id in [a for a in self._open() if a in different]:
                suffix = f"-control-{self._short(self._arms[arm_id])}"
                control, how = self._execute(self._baseline, binding, number, len(ran), suffix, warm_up=True)
                why = f"the result is not the same: {different[arm_id]}"
                if control.digest is None:
                    unsure = f"{why}; the baseline {how} in the control run"
                    self._settled[arm_id] = _plain("inconclusive", unsure)
                elif compare(expected, control.digest)[0] == "different":
                    return self._settle_open("inconclusive", VARIES)
                else:
                    self._settled[arm_id] = _plain("reject", why, equal=False)
        return None

    def _newest_versions(self) -> list[dict[str, int | None]]:
        """By name, for every set of tables that an arm reads."""
        arms = {arm.tables: arm for arm in self._arms.values()}.values()
        return [self._workspace.newest_versions(self._query, arm) for arm in arms]

    def _check_tables(self, number: int, before: list[dict[str, int | None]], warm_up: bool) -> None:
        """A commit to a table that is read changes no result, for versions are pinned; but it takes disk and cores."""
        looks = zip(before, self._newest_versions(), strict=True)
        moved = [f"table {name} was committed to" for old, new in looks for name in new if new[name] != old.get(name)]
        if not moved or warm_up:
            self._disturbed = 0
            self._ledger.count(number)
            return
        self._ledger.taint(number, moved[0])
        self._disturbed += 1
        if self._disturbed > self._rules.repeats:
            self._settle_open("inconclusive", f"disturbed in {self._disturbed} rounds in a row: {moved[0]}")

    def _judge(self, arm_ids: Sequence[str], *, stopped: bool = False) -> None:
        """Ask the judge about open candidates; one that is out of time gets its last word."""
        for arm_id in arm_ids:
            over = stopped or self._budget.left(arm_id) <= 0
            pairs = self._ledger.pairs(arm_id)
            if not pairs and not over:
                continue  # it is waiting
            verdict = judge(
                pairs,
                objective=self._workspace.workload.objective,
                rules=self._rules,
                done=over or len(pairs) >= self._rules.max_pairs,
            )
            if verdict is not None and verdict.outcome == "accept":
                verdict = self._confirmed(self._arms[arm_id], verdict)
            elif verdict is not None and verdict.outcome == "inconclusive" and over:
                verdict = replace(verdict, reason=f"{STOPPED}: {verdict.reason}")
            if verdict is not None:
                self._settled[arm_id] = verdict
        for winner in [a for a, v in self._settled.items() if v.outcome == "accept"]:
            for arm_id in self._open():
                if reason := outrun(self._arms[arm_id], self._arms[winner]):
                    self._settled[arm_id] = _plain("inconclusive", reason)

    def _confirmed(self, arm: Arm, verdict: Judgement) -> Judgement:
        """Before anything is accepted: rows one by one where digests are not enough (floating point, ties)."""
        for binding, expected in enumerate(self._observed):
            digests = [t.digest for t in self._ledger.of(arm.id, binding) if t.digest]
            same_bits = all(digest.bits == expected.bits for digest in digests)
            same_places = self._shows_order(binding) and len({digest.sequence for digest in digests}) == 1
            if same_bits and (same_places or not self._promises_order(binding)):
                continue
            try:
                why = self._difference(binding, arm, charged=arm)
                if why and self._difference(binding, self._baseline, charged=arm):
                    return _plain("inconclusive", VARIES)
            except SparkFailed:
                raise
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
            self._in_order[binding] = few and self._promises_order(binding)
        return self._in_order[binding]

    def _promises_order(self, binding: int) -> bool:
        return self._workspace.promises_order(self._query, binding, self._baseline)

    def _difference(self, binding: int, arm: Arm, *, charged: Arm) -> str:
        left = self._budget.left(charged.id)
        if left <= 0:
            raise QueryTimedOut("no time left", where=self._query.id, fix="raise the budget")
        self._compared[charged.id] += 2
        with self._budget.charged(charged.id):
            return self._workspace.difference(self._query, binding, self._baseline, arm, timeout_s=left)

    def _settle_open(self, outcome: Outcome, reason: str) -> None:
        self._settled |= {arm_id: _plain(outcome, reason) for arm_id in self._open()}


def _plain(outcome: Outcome, reason: str, *, equal: bool | None = None) -> Judgement:
    """A verdict that needed no measuring."""
    criteria: tuple[Criterion, ...] = () if equal is None else (results_equal(equal),)
    return Judgement(outcome, reason, equal, criteria, None, 0)
