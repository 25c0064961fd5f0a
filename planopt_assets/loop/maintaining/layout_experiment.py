"""The experiment on a layout: every query that reads the table, on the table as it is and on the clone, in rounds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planopt_assets.errors import SparkFailed
from planopt_assets.loop.same_results import STOPPED, VARIES, SameResults, unmeasured
from planopt_assets.loop.trial_runs import TrialRuns
from planopt_assets.maintain.workload_judge import QueryPairs, judge_workload, unsettled
from planopt_assets.model.arm import Arm
from planopt_assets.model.trial import Digest, Trial
from planopt_assets.model.verdict import Judgement
from planopt_assets.validate.budget import Clock
from planopt_assets.validate.judge_rules import Rules
from planopt_assets.validate.race import looked_error
from planopt_assets.validate.round_order import round_order

if TYPE_CHECKING:
    from planopt_assets.engine.workspace import Workspace
    from planopt_assets.model.workload import Budgets, Query

MAX_ROUNDS = 9  # a layout changes what all queries read: what nine rounds do not show is not worth a rewrite


@dataclass(frozen=True, slots=True)
class Subject:
    """One query of the experiment. What is in force is measured: its policy before, and the same policy after."""

    query: Query
    before: Arm
    after: Arm
    original: Arm | None  # over the clone too, if a policy is in force: the layout may have made it worthless
    observed: tuple[Digest, ...] = ()  # one per binding; none: the first run of `before` tells
    walls: tuple[float, ...] = ()
    plan_dependent: bool = False  # another layout may answer it in another way, rightly

    @property
    def arms(self) -> tuple[Arm, ...]:
        return (self.before, self.after, *([self.original] if self.original else []))


class Measured:
    """One subject while the experiment runs."""

    def __init__(self, subject: Subject, runs: TrialRuns) -> None:
        self.subject, self.runs = subject, runs
        self.results = SameResults(runs, subject.observed) if subject.observed else None
        self.arms = list(subject.arms)
        self.varies = subject.plan_dependent

    @property
    def pairs(self) -> QueryPairs:
        query = self.subject.query
        return QueryPairs(query.id, query.runs_per_day, query.max_loss, self.runs.ledger.pairs(self.subject.after.id))


class LayoutExperiment:
    """Rounds over all subjects; the first one warms up. It ends with one verdict on the workload.

    `words` say where the arms before and after run, in the reasons of a verdict. `tell` hears of every round.
    """

    def __init__(
        self,
        workspace: Workspace,
        subjects: Sequence[Subject],
        *,
        trial_prefix: str,
        run_deadline: float,
        rules: Rules | None = None,
        clock: Clock = time.monotonic,
        words: tuple[str, str] = ("on the table as it is", "on the new layout"),
        tell: Callable[[str], None] = lambda words: None,
    ) -> None:
        self._workspace, self._clock, self._words, self._tell = workspace, clock, words, tell
        given = rules or Rules()
        # One dear run of one query vetoes nothing: the others may gain.
        self._rules = replace(given, max_pairs=min(given.max_pairs, MAX_ROUNDS), outdone_factor=math.inf)
        budgets = _for_all(workspace.workload.budgets, len(subjects))
        self.queries = [
            Measured(
                subject,
                TrialRuns(
                    *(workspace, subject.query, self._rules),
                    trial_prefix=f"{trial_prefix}-{subject.query.id}",
                    run_deadline=run_deadline,
                    observed_rows=[d.rows for d in subject.observed] or [1 << 62] * len(subject.query.bindings),
                    observed_wall_s=subject.walls,
                    clock=clock,
                    baseline=subject.before,
                    budgets=budgets,
                ),
            )
            for subject in subjects
        ]

    def run(self) -> Judgement:
        number, lost = 0, self._workspace.sessions_lost
        while True:
            going_on = self._next_round()
            self._tell(self._round_in_words(number, len(going_on)))
            for one in going_on:
                try:
                    ended = self._run_query(one, number)
                except SparkFailed as error:
                    return unmeasured("inconclusive", f"the session was lost: {error}")
                if ended is not None:
                    return ended
                if self._workspace.sessions_lost > lost:
                    return unmeasured("inconclusive", f"{one.subject.query.id} ended the session")
            if (verdict := self._judged(number)) is not None:
                return verdict
            number += 1

    def _round_in_words(self, number: int, queries: int) -> str:
        """Progress: a round takes minutes where queries do."""
        if not number:
            return f"warm-up: {queries} queries"
        return f"round {number} of at most {self._rules.max_pairs}: {queries} queries"

    @property
    def error_spent(self) -> float:
        """What the looks at clocks so far have spent of the error that the rules allow."""
        pairs = min((len(one.pairs.pairs) for one in self.queries), default=0)
        return looked_error(pairs, self._rules, done=True)

    def _next_round(self) -> list[Measured]:
        """Once the total is settled, only queries whose loss may be chance go on."""
        workload = self._workspace.workload
        going_on = unsettled([one.pairs for one in self.queries], objective=workload.objective, rules=self._rules)
        return [one for one in self.queries if one.subject.query.id in going_on]

    def _judged(self, number: int) -> Judgement | None:
        """The last word is asked for when rounds or time are spent. A round that time ended is not counted."""
        over = any(_is_spent(one, arm) for one in self.queries for arm in (one.subject.before, one.subject.after))
        if number == 0 and not over:
            return None
        verdict = judge_workload(
            [one.pairs for one in self.queries],
            objective=self._workspace.workload.objective,
            rules=self._rules,
            done=over or number >= self._rules.max_pairs,
        )
        if verdict is None:
            return None
        if verdict.outcome == "accept":
            return self._confirmed(verdict)
        stopped = verdict.outcome == "inconclusive" and over
        return replace(verdict, reason=f"{STOPPED}: {verdict.reason}") if stopped else verdict

    def _confirmed(self, verdict: Judgement) -> Judgement:
        """Before a layout is accepted: rows one by one in every query where digests are not enough."""
        for one in self.queries:
            if one.varies or one.results is None:
                continue
            last = one.results.confirmed(one.subject.after, verdict)
            if last.outcome != "accept" and last.reason == VARIES:
                one.varies = True
            elif last.outcome != "accept":
                return replace(last, reason=f"{one.subject.query.id}: {last.reason}")
        return verdict

    def _run_query(self, one: Measured, number: int) -> Judgement | None:
        """One round of one query; a verdict where it ends the whole experiment."""
        subject, warm_up = one.subject, number == 0
        before = self._workspace.newest_versions(subject.query, subject.before)
        arms = {arm.id: arm for arm in one.arms}
        for position, arm_id in enumerate(self._order(one, number)):
            if ended := self._run_arm(one, arms[arm_id], number, position, warm_up=warm_up):
                return ended
        if one.results is None:
            self._learn(one)
        elif ended := self._compared(one, number):
            return ended
        if self._workspace.newest_versions(subject.query, subject.before) == before or warm_up:
            one.runs.ledger.count(number)
        else:
            one.runs.ledger.taint(number, "a table that it reads was committed to")
        return None

    def _order(self, one: Measured, number: int) -> list[str]:
        """The arms of a round. Where this session has run the query on the table as it is, that needs no warm-up."""
        arms = [arm for arm in one.arms if number < 2 or arm != one.subject.original]  # one pair is enough for a note
        ids, query, before = [arm.id for arm in arms], one.subject.query, one.subject.before
        if number:
            return round_order(ids, self._workspace.workload.seed, query.id, number)
        warm = one.results is not None and self._workspace.has_run(query, before)
        return [arm_id for arm_id in ids if not (warm and arm_id == before.id)]

    def _run_arm(self, one: Measured, arm: Arm, number: int, position: int, *, warm_up: bool) -> Judgement | None:
        for binding in range(len(one.subject.query.bindings)):
            for again in range(self._rules.repeats + 1):
                if _is_spent(one, arm):
                    return self._out_of_time(one, arm, number)
                suffix = f"-again{again}" if again else ""
                trial, how = one.runs.execute(arm, binding, number, position, suffix, warm_up=warm_up)
                if trial.status != "tainted" or trial.has_warmed_up:
                    break
            if trial.counters is not None:
                continue
            if _is_spent(one, arm):
                return self._out_of_time(one, arm, number)
            if arm == one.subject.original:
                one.arms.remove(arm)  # it only tells whether the policy still helps
                return None
            query = one.subject.query.id
            if trial.status == "failed" and arm == one.subject.after:
                # Storage that does not answer fails every arm: the table as it is runs once more, now.
                control = f"{suffix}-control"
                told, _ = one.runs.execute(one.subject.before, binding, number, position, control, warm_up=True)
                if told.counters is None:
                    return unmeasured("inconclusive", f"{query} {how}, on the table as it is too")
            if arm == one.subject.before or trial.status == "tainted":
                where = self._words[arm != one.subject.before]
                return unmeasured("inconclusive", f"{query} {how} {where}")
            return unmeasured("reject", f"veto of {query}: it {how} {self._words[1]}")
        return None

    def _out_of_time(self, one: Measured, arm: Arm, number: int) -> Judgement | None:
        """The budget ended before or in the middle of an execution: that says nothing about the layout."""
        if arm == one.subject.original:
            one.arms.remove(arm)
            return None
        return self._judged(number)

    def _compared(self, one: Measured, number: int) -> Judgement | None:
        assert one.results is not None
        if one.varies:
            return None
        for _, ended in one.results.of_round(number, [a for a in one.arms if a != one.subject.before]):
            if ended.reason != VARIES:
                return replace(ended, reason=f"{one.subject.query.id}: {ended.reason}")
            one.varies = True  # by itself, so it says nothing about the layout
        return None

    def _learn(self, one: Measured) -> None:
        """Some files only were cloned: what the query returns of them nobody has observed before."""
        trials = [t for a, t in one.runs.ledger.runs if a == one.subject.before.id and t.digest]
        one.results = SameResults(one.runs, [t.digest for t in trials if t.digest])

    def trials(self) -> list[tuple[str, Arm, Trial]]:
        """Every execution with its query and its arm, in the order in which they ran within a query."""
        return [
            (one.subject.query.id, {a.id: a for a in one.subject.arms}[arm_id], trial)
            for one in self.queries
            for arm_id, trial in one.runs.ledger.runs
        ]


def _is_spent(one: Measured, arm: Arm) -> bool:
    return one.runs.budget.left(arm.id) <= 0


def _for_all(budgets: Budgets, queries: int) -> Budgets:
    """The clock runs for all queries while one is measured. What a candidate may take is counted query by query."""
    held = budgets.executor_seconds_per_query
    return replace(
        budgets,
        per_query=budgets.per_query * queries,
        executor_seconds_per_query=None if held is None else held * queries,
    )
