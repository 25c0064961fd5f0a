"""One simulated query over many nights: what is tried, promoted, confirmed and taken back.

Tables change every night, so the query is observed and decided again, and every proposal may be tried again. Trials,
error budget, history, confirmation and promotion are planopt's own functions. Only executions are drawn, with noise.

Where additions are simulated, rounds go on from the best accepted policy. `year_loop.py` has all of it together.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Self

from benchmarks.year_noise import Noise
from benchmarks.year_trial import Tried, Truth, confirm, race
from planopt_assets.decide.explore.explore import MOST_TRIALS
from planopt_assets.decide.history import PastVerdicts, recall
from planopt_assets.loop.rounds import by_proven_gain
from planopt_assets.loop.standing import Standing
from planopt_assets.model.conditions import Circumstances, Conditions, TableState
from planopt_assets.model.past_verdict import PastVerdict, TakenBack
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.promotion import Chain, in_force
from planopt_assets.model.stamp import Stamp
from planopt_assets.model.verdict import NOT_TRIED, Purpose, Verdict
from planopt_assets.model.workload import Objective
from planopt_assets.promote.chain import spent, taken_back
from planopt_assets.promote.confirmation import confirmation
from planopt_assets.promote.transitions import Accept, Event, Revert, next_generation
from planopt_assets.promote.twice_taken_back import waiting
from planopt_assets.replan.candidates import Proposed, next_singles
from planopt_assets.validate.error_budget import budget_left

_FIRST_NIGHT = datetime(2026, 1, 1, 2, tzinfo=UTC)
_GROWTH = 1.003  # of the tables, every night: three times as large after a year
_NO_GAIN = Truth()
_KNOBS = (  # one for each round, so that additions of one round exclude each other, and those of several do not
    *("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes"),
    *("spark.sql.adaptive.advisoryPartitionSizeInBytes", "spark.sql.adaptive.coalescePartitions.minPartitionSize"),
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes",
)
_POLICIES = tuple(Policy.of({"spark.sql.shuffle.partitions": str(n + 2)}) for n in range(24))  # no two go together


@dataclass(slots=True)
class Life:
    """All verdicts and generations of one query, and what was spent on them."""

    truth: Truth  # of every candidate and option
    objective: Objective
    candidates: int
    noise: Noise
    draw: random.Random
    options: int = 0  # that are explored once nothing of the candidates is left
    additions: int = 0  # that each round from an accepted policy tries
    addition: Truth = _NO_GAIN  # of every one of them, beside the policy it is added to
    verdicts: list[Verdict] = field(default_factory=list)
    chain: Chain = ()
    in_force_since: int | None = None  # the first night with one in force that is counted
    executions: int = 0  # of trials
    confirming: int = 0  # executions of confirmations
    night: int = 0
    commits: int = 0

    def live(self, nights: int) -> Self:
        for self.night in range(nights):
            self._confirm()
            self._try()
            if self.in_force_since is None and self.counts(in_force(self.chain)):
                self.in_force_since = self.night
        return self

    def counts(self, policy: Policy) -> bool:
        """Whether a policy is what is asked about: where additions are tried, one of those; else anything."""
        return len(policy.parts) > (1 if self.additions else 0)

    def true(self, policy: Policy) -> Truth:
        """What a policy really is, relative to original: a candidate, with one addition for each further part."""
        found = self.truth
        for _ in policy.parts[1:]:
            found = self.addition.beyond(found)
        return found

    @property
    def accepts(self) -> int:
        """Of what is counted."""
        return sum(v.accepted and not v.confirms and self.counts(v.policy) for v in self.verdicts)

    @property
    def executions_to_accept(self) -> int:
        """Of all trials up to the first one that accepts."""
        tried = [v for v in self.verdicts if not v.confirms]
        first = next(place for place, v in enumerate(tried) if v.accepted)
        return sum(v.executions or 0 for v in tried[: first + 1])

    def _confirm(self) -> None:
        """What a confirmation finds is written in the same night."""
        for _ in range(2):
            if in_force(self.chain) == ORIGINAL:
                return
            policy = self.chain[-1].policy
            found = confirmation(self.chain[-1], self.verdicts)
            if found is not None and found.state == "failed":
                known = tuple(v.id for v in self.verdicts if v.policy == policy and v.accepted)
                self._commit(Revert("last_good", found.reason, None, (*found.evidence, *known)))
            elif found is not None and found.due(self._now):
                tried = confirm(policy, self.true(policy), self.noise, self.objective, self.draw)
                self.confirming += tried.executions
                self._keep(tried, "confirm")

    def _try(self) -> None:
        """Passes over what history lets through, until nothing is left; then what was accepted is promoted."""
        carried, proposed = set[str](), list[Proposed]()
        for policy in _POLICIES[: self.candidates]:
            memory = recall(policy, self._history(policy), self._now)
            carried |= set(memory.evidence_ids) if memory else set()
            proposed += [] if memory else [Proposed(policy.id, policy, 1)]
        outcomes, tonight = dict[str, str](), list[Verdict]()
        while singles := next_singles(proposed, outcomes):
            truths = {policy: self.truth for policy, _ in singles}
            for tried in race(truths, self.noise, self.objective, budget_left(self.verdicts, "cql"), self.draw):
                self.executions += tried.executions
                tonight.append(self._keep(tried, "try"))
            judged = {v.policy.id: v.outcome for v in tonight}
            outcomes |= {p.id: judged.get(p.id, "inconclusive") for p, _ in singles}  # not judged: outrun
        tonight += self._explore()
        known = [v for v in self.verdicts if v.id in carried and v.accepted]
        self._promote(tonight + self._rounds([*tonight, *known]), known)

    def _rounds(self, known: Sequence[Verdict]) -> list[Verdict]:
        """From the best accepted policy on, until a round accepts nothing."""
        found: list[Verdict] = []
        while self.additions and (base := self._base([*known, *found])) is not None:
            more = self._round(base)
            found += more
            if not any(v.accepted for v in more):
                break
        return found

    def _base(self, verdicts: Sequence[Verdict]) -> Verdict | None:
        gone = spent(self.chain, by_hand=False) | waiting(self.chain, self.verdicts)
        held = in_force(self.chain)
        counted = (v for v in verdicts if v.proven and v.id not in gone and v.counts_beside(held))
        return min(counted, key=by_proven_gain, default=None)

    def _round(self, base: Verdict) -> list[Verdict]:
        """The additions to a policy that history lets through."""
        depth, found, outcomes = len(base.policy.parts), list[Verdict](), dict[str, str]()
        changes = [
            Policy.of({knob: str(n + 1 << 20)}) for knob in _KNOBS[depth - 1 : depth] for n in range(self.additions)
        ]
        wanted = [base.policy.merged(change) for change in changes]
        proposed = [Proposed(p.id, p, 1) for p in wanted if recall(p, self._history(p), self._now) is None]
        while singles := next_singles(proposed, outcomes):
            truths = {policy: self.true(policy) for policy, _ in singles}
            budget, before = budget_left(self.verdicts, "cql"), self.true(base.policy)
            for tried in race(truths, self.noise, self.objective, budget, self.draw, before):
                self.executions += tried.executions
                found.append(self._keep(tried.after(base.gain), "add"))
            judged = {v.policy.id: v.outcome for v in found}
            outcomes |= {p.id: judged.get(p.id, "inconclusive") for p, _ in singles}  # not judged: outrun
        return found

    def _explore(self) -> list[Verdict]:
        """One option after the other that history lets through, as long as the error budget is worth a trial."""
        found = []
        for policy in _POLICIES[self.candidates : self.candidates + self.options]:
            budget = budget_left(self.verdicts, "cql")
            if budget.looked >= MOST_TRIALS:
                break
            if recall(policy, self._history(policy), self._now) is None:
                (tried,) = race({policy: self.truth}, self.noise, self.objective, budget, self.draw)
                self.executions += tried.executions
                found.append(self._keep(tried, "try"))
        return found

    def _promote(self, tonight: Sequence[Verdict], carried: Sequence[Verdict]) -> None:
        standing = Standing("q", "qry", self._inputs, "auto", (), (), (), tonight, self.chain, carried=carried)
        if (verdict := standing.to_promote) is not None:
            named = frozenset(v.id for v in carried)
            self._commit(Accept(verdict.id, verdict.candidate_id, self._inputs, tuple(self.verdicts), named))

    def _history(self, policy: Policy) -> PastVerdicts:
        """What decide remembers of one policy, and of those that contain it."""
        gone = {
            verdict_id: TakenBack("reverted", by.id, by.reason, by.stamp.second, by.stamp.sequence)
            for verdict_id, by in taken_back(self.chain).items()
        }
        told = [v for v in self.verdicts if policy.within(v.policy) and self._tells(v)]
        past = tuple(PastVerdict(v, v.stamp.second, gone.get(v.id), v.stamp.sequence) for v in told)
        return PastVerdicts("cql", "ctx", self._bytes, past, self._conditions.proven.sizes)

    def _tells(self, verdict: Verdict) -> bool:
        """Whether history counts it, as `loop/decisions.py` says: it ran, and was compared with what still counts."""
        gone = verdict.leaves_out and not (verdict.accepted and verdict.counts_beside(in_force(self.chain)))
        return not (gone or verdict.confirms or verdict.reason.startswith(NOT_TRIED))

    def _keep(self, tried: Tried, purpose: Purpose) -> Verdict:
        verdict = Verdict(
            f"ver-{self.night}-{len(self.verdicts)}",
            "q",
            f"can_{self.night}_{tried.policy.id}",
            tried.policy,
            tried.judgement,
            (),
            self._inputs,
            canonical_fingerprint="cql",
            context_hash="ctx",
            input_bytes=self._bytes,
            executions=tried.executions,
            error_available=tried.available,
            error_spent=tried.spent,
            purpose=purpose,
            conditions=self._conditions,
            stamp=self._stamp(),
        )
        self.verdicts.append(verdict)
        return verdict

    def _commit(self, event: Event) -> None:
        promotion = next_generation("year", "q", self.chain, event)
        self.chain = (*self.chain, replace(promotion, stamp=self._stamp()))

    def _stamp(self) -> Stamp:
        self.commits += 1
        return Stamp(f"run{self.night}", self._when, self.commits)

    @property
    def _when(self) -> datetime:
        return _FIRST_NIGHT + timedelta(days=self.night)

    @property
    def _now(self) -> int:
        return int(self._when.timestamp())

    @property
    def _inputs(self) -> str:
        return f"inp_{self.night}"

    @property
    def _bytes(self) -> int:
        return round(1e12 * _GROWTH**self.night)

    @property
    def _conditions(self) -> Conditions:
        """The one table, as large as it is tonight: history counts verdicts on tables of a similar size only."""
        return Conditions(Circumstances(tables=(TableState("sales", "id", self._bytes),)))
