"""Where a query stands: what the store knows about it for the inputs as they are now.

Each stage asks this first and does only what is missing. That is why an unchanged query costs nothing, and why a
killed run goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from planopt_assets.decide.knobs import objections
from planopt_assets.errors import QueryHangs, SessionLost
from planopt_assets.loop.priority import NO_PROMISE, Promise, promise
from planopt_assets.loop.rounds import Rounds, by_proven_gain
from planopt_assets.loop.steps import planned_steps
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.promotion import in_force
from planopt_assets.model.workload import NO_LIMITS, SIMILAR, Knobs
from planopt_assets.promote.chain import spent
from planopt_assets.promote.suspension import covered
from planopt_assets.promote.twice_taken_back import waiting
from planopt_assets.promote.veto import objection_to
from planopt_assets.replan.candidates import incumbent
from planopt_assets.validate.error_budget import ErrorBudget, budget_left

if TYPE_CHECKING:
    from planopt_assets.errors import PlanoptError, TableUnreadable
    from planopt_assets.model.candidate import Candidate
    from planopt_assets.model.decision import Decision
    from planopt_assets.model.observation import PlanArtifact
    from planopt_assets.model.promotion import Chain, Promotion
    from planopt_assets.model.verdict import Gain, Verdict
    from planopt_assets.model.workload import Mode
    from planopt_assets.promote.confirmation import Confirmation
    from planopt_assets.promote.lifecycle import Lifecycle
    from planopt_assets.promote.transitions import Expire, Revert
    from planopt_assets.replan.candidates import Tried


@dataclass(frozen=True)  # without slots: what is asked ten times for a query is computed once
class Standing:
    """One query: its current inputs, everything stored that was made from exactly these, and what else still counts."""

    query_id: str
    query_fingerprint: str
    input_fingerprint: str | None  # None: never observed, so the tables it reads are not known
    mode: Mode
    artifacts: Sequence[PlanArtifact]
    decisions: Sequence[Decision]
    candidates: Sequence[Candidate]
    verdicts: Sequence[Verdict]
    chain: Chain = ()  # all generations
    promoted_by: Verdict | None = None  # the verdict the active policy rests on, whatever its inputs were
    carried: Sequence[Verdict] = ()  # accepted verdicts on similar inputs that a decision on these relies on
    past_verdicts: Sequence[Verdict] = ()  # all of the query, whatever their inputs
    canonical_fingerprint: str | None = None  # with the two below: which past verdicts count, and where these will
    context_hash: str | None = None
    input_bytes: int | None = None
    sizes: Mapping[str, int | None] = field(default_factory=dict)  # bytes of each table, when it was observed
    missing: TableUnreadable | None = None  # a table that it names is missing: it cannot run
    changes: tuple[str, ...] = ()  # since the last observation; empty where it still stands, or there is none
    due: Expire | Revert | None = None  # what watch found and nobody has written yet
    confirmation: Confirmation | None = None  # of the policy in force; None: nothing is to be confirmed
    in_force_as: Candidate | None = None  # the candidate that the policy in force was
    without_a_part: tuple[Policy, ...] = ()  # the policy in force without each of its proposals, where that is worth it
    at: int = 0  # seconds since 1970: whether a confirmation is due
    policies: tuple[Lifecycle, ...] = ()  # the state of every policy the query ever had
    unlinked: bool = False  # a promotion has no lineage: its run was killed in between
    broken: PlanoptError | None = None  # its chain is not what was written: nothing is done until it is repaired
    limits: Knobs = NO_LIMITS  # of the workload file: what a stored row asks for beyond them does not count
    similar_within: float = SIMILAR  # of the workload file: how far sizes may be from those of the trials
    suspended: str = ""  # why the policy in force is not applied to the tables as they are now
    ended_session: bool = False  # when it was last observed, whatever its inputs were
    named: bool = False  # a person asked for exactly this query
    explores: bool = False  # the workload file leaves time for options beyond the rules

    @property
    def active(self) -> Promotion | None:
        """The newest generation."""
        return self.chain[-1] if self.chain else None

    @property
    def vetoed(self) -> str:
        """Why the policy in force is not applied anywhere. Empty if it is."""
        return objection_to(self.active, self.limits) if self.active else ""

    @property
    def state(self) -> str:
        """What people are told of the policy in force: the cause of its generation, or that it is suspended."""
        if self.active is None:
            return "original"
        return "suspended" if self.suspended else self.active.state

    @property
    def not_applied(self) -> str:
        """Why the policy in force is applied nowhere, or not to the tables as they are. Empty if it is."""
        return self.vetoed or (f"suspended: {self.suspended}" if self.suspended else "")

    @property
    def in_force(self) -> str:
        """What is in force, in words, and why it is not applied if so."""
        if self.active is None:
            return "original"
        return self.active.describe() + (f", not applied: {self.not_applied}" if self.not_applied else "")

    @property
    def observed(self) -> bool:
        return bool(self.artifacts)

    @property
    def never_observed(self) -> bool:
        """On no inputs at all."""
        return not self.artifacts and not self.changes

    @property
    def failed(self) -> bool:
        """It could not be run; unlike a refusal that may have passed, so every run tries it again."""
        return any(a.status == "failed" for a in self.artifacts)

    @property
    def left_alone(self) -> bool:
        """On these inputs it ended the whole session: it is not tried again until they change or a person names it."""
        return not self.named and any(ended_session(a) for a in self.artifacts)

    @property
    def captured(self) -> bool:
        return self.observed and all(a.captured for a in self.artifacts)

    @cached_property
    def rounds(self) -> Rounds:
        """What was done on these inputs, as rounds. After a person's pin none starts from what was accepted."""
        confirmed, pinned = self._only_confirmed, self.active is not None and self.active.fixed
        return Rounds(
            self.decisions,
            [c for c in self.candidates if c.id not in confirmed],
            self.verdicts,
            self.unjudged,
            () if pinned else self._accepted,
            self.incumbent,
            self.explores and not pinned and not self.suspended and self._tries,
        )

    @property
    def _tries(self) -> bool:
        """Whether anything may be tried: it runs, its chain is sound, and the workload does not only look."""
        return self.captured and self.broken is None and self.mode != "observe"

    @property
    def base(self) -> Verdict | None:
        """The accepted verdict whose policy this round starts from. None: the round that starts from original."""
        return self.rounds.base

    @property
    def base_policy(self) -> Policy:
        return self.rounds.base_policy

    @property
    def decided(self) -> bool:
        return self.rounds.decided

    @property
    def replanned(self) -> bool:
        return self.rounds.replanned

    @property
    def tried(self) -> Tried:
        return self.rounds.tried

    @property
    def this_round(self) -> list[Decision]:
        return self.rounds.this_round

    def incumbent(self, tried: Tried) -> Policy | None:
        """The policy in force, if it is to be planned as a candidate: whenever the query is tried, or it is suspended.

        A person's pin is not tried, nor is a query that could not be run.
        """
        if self.active is None or self.active.fixed or self.vetoed or not self.captured:
            return None
        own = {policy.id for policy in self.without_a_part}  # in their trials the policy in force is the baseline
        others = {policy_id: state for policy_id, state in tried.items() if policy_id not in own}
        return incumbent(self.active.policy, others, suspended=bool(self.suspended))

    @property
    def proposed(self) -> list[Decision]:
        """Of all rounds."""
        return [d for d in self.decisions if d.proposes]

    @cached_property
    def unjudged(self) -> list[Candidate]:
        """Candidates without a verdict. The policy in force that was only measured again is one if others are."""
        judged = {v.candidate_id for v in self.verdicts}
        found = [c for c in self.candidates if c.kept and c.id not in judged and c.policy not in self.without_a_part]
        return [] if {c.id for c in found} <= self._only_confirmed else found

    @property
    def _only_confirmed(self) -> frozenset[str]:
        """Candidates that were planned to measure the policy in force again. It needs no trial for its own sake.

        A suspended one does: no confirmation puts it in force again.
        """
        if self.suspended:
            return frozenset()
        tried = {v.candidate_id for v in self.verdicts}
        return frozenset(v.candidate_id for v in self.past_verdicts if v.confirms and v.candidate_id not in tried)

    @property
    def to_confirm(self) -> Candidate | None:
        """The policy in force, if it is due to be tried once more and no trial of it is due anyway."""
        due = self.confirmation is not None and self.confirmation.due(self.at) and not self.suspended
        if not due or self.mode == "observe" or self.vetoed or not self.captured:
            return None
        waits = self.in_force_as is None or any(c.policy == self.in_force_as.policy for c in self.unjudged)
        return None if waits else self.in_force_as

    @property
    def to_leave_out(self) -> tuple[Policy, ...]:
        """What is left to try of the policy in force without one of its parts, once it is confirmed.

        Nothing while it is suspended: who is better than the whole may still be worse than original there.
        """
        confirmed = self.confirmation is not None and self.confirmation.state == "confirmed"
        if not confirmed or self.promoted_by is None or self.promoted_by.gain is None:
            return ()
        if self.mode == "observe" or self.not_applied or not self.captured:
            return ()
        told = {v.policy for v in self.past_verdicts if v.leaves_out and v.stamp.later_than(self.promoted_by.stamp)}
        dropped = {c.policy for c in self.candidates if not c.kept}
        return tuple(p for p in self.without_a_part if p not in told | dropped)

    @property
    def unplanned(self) -> tuple[Policy, ...]:
        """Those of them that have no candidate on these inputs yet."""
        planned = {c.policy for c in self.candidates}
        return tuple(p for p in self.to_leave_out if p not in planned)

    @property
    def leaving_out(self) -> list[Candidate]:
        """Those of them that can be tried now."""
        return [c for c in self.candidates if c.kept and c.policy in self.to_leave_out]

    @property
    def error_budget(self) -> ErrorBudget:
        """What earlier trials of this query have left of the error that planopt may make in its whole life."""
        return budget_left(self.past_verdicts, self.canonical_fingerprint)

    @property
    def settled(self) -> bool:
        """Nothing left to do for these inputs."""
        return not any(step.needed for step in planned_steps(self))

    @property
    def promise(self) -> Promise:
        """What trying it is expected to gain and to cost."""
        return self.promise_of(self.rounds.last_asked)

    def promise_of(self, decisions: Sequence[Decision]) -> Promise:
        """The same for decisions that are only foreseen; nothing once every candidate has its verdict."""
        if self.decided and self.replanned and not self.unjudged and not self.rounds.to_explore:
            return NO_PROMISE
        return promise(decisions, self.artifacts[0].statistics_source if self.artifacts else None)

    @cached_property
    def best(self) -> Verdict | None:
        """The accepted verdict with the best proven gain: the one whose interval ends lowest."""
        return self._best(frozenset())

    @property
    def to_promote(self) -> Verdict | None:
        """The verdict that automation should put in force."""
        return self.promotable(by_hand=False)

    @property
    def to_renew(self) -> Verdict | None:
        """A verdict that proves the policy in force where it was not proven yet: other sizes, other cores.

        The policy stays what it is, so this needs no person.
        """
        if self.broken is not None or self.active is None or self.active.fixed:
            return None
        gone = spent(self.chain, by_hand=False)
        tried = [v for v in self.verdicts if v.against_original]
        proven = [v for v in tried if v.policy == self.active.policy and v.id not in gone]
        new = [v for v in proven if not self._doubt(v) and not covered(self.chain, v.conditions, self.similar_within)]
        return new[-1] if new else None

    def promotable(self, *, by_hand: bool) -> Verdict | None:
        """The best verdict whose policy is not in force and was not taken back; none while a person's pin stands."""
        if self.broken is not None or (self.active is not None and self.active.fixed):
            return None
        waits = frozenset() if by_hand else waiting(self.chain, self.past_verdicts)
        best = self._best(spent(self.chain, by_hand=by_hand) | waits)
        if best is None or (self.active is not None and self.active.policy == best.policy):
            return None
        return best

    def _best(self, gone: frozenset[str]) -> Verdict | None:
        return min(self._proven(gone), key=by_proven_gain, default=None)

    def _proven(self, gone: frozenset[str]) -> list[Verdict]:
        return [v for v in (*self.verdicts, *self.carried) if v.id not in gone and not self._doubt(v)]

    @cached_property
    def _accepted(self) -> list[Verdict]:
        """What automation may rely on: proven on these inputs or similar ones, and not taken back since."""
        return self._proven(spent(self.chain, by_hand=False) | waiting(self.chain, self.past_verdicts))

    def _doubt(self, verdict: Verdict) -> str:
        """Why a verdict promotes nothing: its own criteria, the veto, or that it was compared with what is gone."""
        against = objections(verdict.policy, self.limits) if verdict.accepted else ()
        if not verdict.counts_beside(in_force(self.chain)):
            return "it was compared with a policy that is not in force"
        return verdict.judgement.doubt or (against[0] if against else "")

    def _counts_as(self, verdict: Verdict) -> str:
        """Its outcome; an `accept` that proves nothing is no answer."""
        return "inconclusive" if verdict.accepted and self._doubt(verdict) else verdict.outcome

    @cached_property
    def outcome(self) -> str:
        if self.broken is not None:
            return "broken"
        if not self.observed:
            return "not_run"
        statuses = {a.status for a in self.artifacts}
        if "refused" in statuses:
            return "refused"
        if "failed" in statuses:
            return "cannot_tell"
        outcomes = {self._counts_as(v) for v in (*self.verdicts, *self.carried)}
        for outcome in ("accept", "inconclusive", "reject"):
            if outcome in outcomes:
                return outcome
        return "no_change" if self.settled else "not_run"

    @cached_property
    def deciding(self) -> Verdict | None:
        """The verdict the outcome rests on."""
        if self.broken is not None:
            return None
        judged = (*self.verdicts, *self.carried)
        return self.best or next((v for v in judged if self._counts_as(v) == self.outcome), None)

    @property
    def reason(self) -> str:
        if self.broken is not None:
            return str(self.broken)
        if not self.observed:
            return f"it cannot run: {self.missing}" if self.missing else "not run on these inputs yet"
        if not self.captured:
            return next(a.error or a.status for a in self.artifacts if not a.captured)
        if deciding := self.deciding:
            doubt = self._doubt(deciding) if deciding.accepted else ""
            return f"verdict {deciding.id} says accept and does not count: {doubt}" if doubt else deciding.reason
        if self.mode == "observe":
            return "the workload's mode is observe: planopt only looks"
        if not self.decided:
            return "observed, but not decided on yet"
        dropped = [c.reason for c in self.candidates if not c.kept]
        return (
            dropped[0] if dropped else max(self.decisions, key=lambda d: d.nearly_saves_ns).reason
        )  # nearest to a proposal

    @property
    def gain(self) -> Gain | None:
        return self.deciding.gain if self.deciding else None

    @property
    def policy(self) -> Policy:
        """What the outcome is about: the accepted or tried policy, or what is in force."""
        if deciding := self.deciding:
            return deciding.policy
        return self.active.policy if self.active else ORIGINAL

    @property
    def shown_policies(self) -> tuple[Policy, ...]:
        """The policies that a summary names: what the outcome is about, and what is in force."""
        return (self.policy, self.active.policy) if self.active else (self.policy,)


def ended_session(artifact: PlanArtifact) -> bool:
    """Whether this observation cost the whole session, so that it is not taken again lightly."""
    return artifact.status == "failed" and artifact.error_code in (QueryHangs.code, SessionLost.code)


def asked_for(standing: Standing) -> Standing:
    """The same query, named by a person."""
    return replace(standing, named=True)
