"""One experiment: the arms of candidates race against the baseline, in interleaved rounds, until each is settled."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planopt_assets.errors import SparkFailed
from planopt_assets.loop.same_results import STOPPED, SameResults, unmeasured
from planopt_assets.loop.trial_runs import Look, TrialRuns
from planopt_assets.model.candidate import Candidate
from planopt_assets.model.counters import Counters
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.trial import Digest, Trial
from planopt_assets.model.verdict import Judgement, Outcome
from planopt_assets.validate.budget import Clock
from planopt_assets.validate.error_budget import FULL_BUDGET, ErrorBudget
from planopt_assets.validate.error_shares import ErrorShares
from planopt_assets.validate.judge import judge
from planopt_assets.validate.judge_rules import Rules
from planopt_assets.validate.original_limits import within_original
from planopt_assets.validate.race import next_runners, outrun, too_small_a_part
from planopt_assets.validate.round_order import round_order
from planopt_assets.validate.work import work_ns

if TYPE_CHECKING:
    from planopt_assets.engine.workspace import Workspace
    from planopt_assets.model.arm import Arm
    from planopt_assets.model.workload import Query


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate with its verdict, the trials it rests on (the baseline's among them), and all executions spent."""

    candidate: Candidate
    judgement: Judgement
    trial_ids: tuple[str, ...]
    executions: int
    error_available: float = 0.0  # of the query's error budget
    error_spent: float = 0.0


class Experiment:
    """The first run of an arm warms it up: its work tells who leads the race, its clocks never count.

    Every execution of every round is checked for the same result. `arm_of` gives a candidate's arm; without it, its
    policy over the tables of the baseline. `error` is what is left of the query's error budget. If it is None, the
    trial confirms the policy in force, whose gain was shown before. `baseline` is original unless told. `look` tells
    what the first run of a candidate shows of its plan. `in_force` is tried to its end, whoever is accepted before it.
    `original` is the observed execution of each binding, where the baseline is another policy. `first` is tried before
    the others, once no combination that holds it is open.
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
        error: ErrorBudget | None = FULL_BUDGET,
        baseline: Arm | None = None,
        look: Look | None = None,
        in_force: Policy = ORIGINAL,
        original: Sequence[Counters] = (),
        first: Policy = ORIGINAL,
    ) -> None:
        self._workspace, self._query, self._rules = workspace, query, rules or Rules()
        self._in_force, self._original, self._first = in_force, original, first
        self._shown, self._shares = error is None, ErrorShares(self._rules, error)
        self._runs = TrialRuns(
            *(workspace, query, self._rules),
            trial_prefix=trial_prefix,
            run_deadline=run_deadline,
            observed_rows=[digest.rows for digest in observed],
            observed_wall_s=observed_wall_s,
            clock=clock,
            baseline=baseline,
            look=look,
        )
        self._baseline, self._ledger, self._budget = self._runs.baseline, self._runs.ledger, self._runs.budget
        self._results = SameResults(self._runs, observed)
        self._contenders = [(c, arm_of(c) if arm_of else workspace.arm(c.policy)) for c in candidates]
        self._arms = {arm.id: arm for arm in (self._baseline, *(arm for _, arm in self._contenders))}
        self._settled: dict[str, Judgement] = {}
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
            for arm_id, judgement in self._results.of_round(number, [self._arms[a] for a in self._open()]):
                self._settled[arm_id] = judgement
        if complete and self._workspace.sessions_lost == lost:
            self._check_tables(number, before, warm_up)
        self._judge(self._open())
        if self._workspace.sessions_lost > lost:
            self._first_work.clear()

    def _round(self, number: int) -> tuple[list[str], bool]:
        """The arms of the next round in their order, and whether it is their first run in this session."""
        waiting = [self._arms[arm_id] for arm_id in self._open()]
        runners = [arm.id for arm in next_runners(waiting, self._first_work, self._first)]
        if any(arm_id not in self._first_work for arm_id in runners):
            # The baseline goes first: what a cold JVM takes then counts for the time candidates are given. Where
            # this session has run it, it is warm.
            warm = self._workspace.has_run(self._query, self._baseline)
            cold = not self._first_work and (self._results.outdated or not warm)
            return ([self._baseline.id] if cold else []) + runners, True
        return round_order([self._baseline.id, *runners], self._workspace.workload.seed, self._query.id, number), False

    def _judged(self, candidate: Candidate, arm: Arm) -> Judged:
        trial_ids = self._ledger.ids(arm.id)
        executions = len(trial_ids) + self._runs.compared.get(arm.id, 0)
        error = self._shares.available(arm.id), self._shares.spent(arm.id)
        return Judged(candidate, self._settled[arm.id], trial_ids, executions, *error)

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
                trial, how = self._runs.execute(arm, binding, number, position, suffix, warm_up=warm_up)
                if trial.status != "tainted" or trial.has_warmed_up:
                    break
            if trial.status == "ok" or trial.has_warmed_up:
                work += work_ns(trial.counters) if trial.counters else 0
                continue
            if trial.status == "timed_out" and self._budget.left(arm.id) <= 0:
                return self._stop(arm.id)
            if arm == self._baseline:
                self._settle_open("inconclusive", f"the baseline {how}")
                return False
            outcome: Outcome = "inconclusive" if trial.status == "tainted" else "reject"
            self._settled[arm.id] = unmeasured(outcome, f"the candidate {how}")
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
            done = over or len(pairs) >= self._rules.max_pairs
            rules = self._shares.rules_for(arm_id, len(pairs), done=done)
            if self._arms[arm_id].policy == self._in_force:
                rules = replace(rules, worth_gain=0.0)  # any gain that can be shown keeps its place
            objective = self._workspace.workload.objective
            verdict = judge(pairs, objective=objective, rules=rules, done=done, shown=self._shown)
            verdict = within_original(verdict, pairs, self._original, rules) if verdict is not None else None
            if verdict is not None and verdict.outcome == "accept":
                verdict = self._results.confirmed(self._arms[arm_id], verdict)
            elif verdict is not None and verdict.outcome == "inconclusive" and over:
                verdict = replace(verdict, reason=f"{STOPPED}: {verdict.reason}")
            if verdict is not None:
                self._settled[arm_id] = verdict
        accepted_first = sorted(self._settled, key=lambda arm_id: self._settled[arm_id].outcome != "accept")
        for arm_id in self._open():
            if self._arms[arm_id].policy == self._in_force:
                continue  # who would take its place must be better than it, and it must still be better than original
            if reason := next(filter(None, (self._not_needed(arm_id, other) for other in accepted_first)), ""):
                self._settled[arm_id] = unmeasured("inconclusive", reason)

    def _not_needed(self, arm_id: str, settled: str) -> str:
        """Why an open candidate need not run after another was settled. Empty if it may."""
        arm, other, verdict = self._arms[arm_id], self._arms[settled], self._settled[settled]
        if verdict.outcome == "accept":
            return outrun(arm, other)
        return too_small_a_part(arm, other, verdict, self._rules)

    def _settle_open(self, outcome: Outcome, reason: str) -> None:
        self._settled |= {arm_id: unmeasured(outcome, reason) for arm_id in self._open()}
