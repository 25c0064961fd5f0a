"""The rounds of a query: each starts from the best policy accepted so far, and asks what can be added to it.

The first round starts from original. A round ends when everything it proposed was planned and judged. The next one
starts from the best accepted policy, so a query is done when a round accepts nothing that adds to its base. Before a
round ends, options beyond the rules are explored, one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from planopt_assets.model.policy import ORIGINAL
from planopt_assets.replan.candidates import Proposed, combination, next_singles

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from planopt_assets.model.candidate import Candidate
    from planopt_assets.model.decision import Decision
    from planopt_assets.model.policy import Policy
    from planopt_assets.model.verdict import Verdict
    from planopt_assets.replan.candidates import Tried


@dataclass(frozen=True)  # without slots: `base` is asked sixteen times a query, and computed once
class Rounds:
    """What was decided, planned and judged on the current inputs, as rounds."""

    decisions: Sequence[Decision]
    candidates: Sequence[Candidate]  # without those that only measure the policy in force again
    verdicts: Sequence[Verdict]
    unjudged: Sequence[Candidate]
    accepted: Sequence[Verdict]  # what a round may start from; nothing after a person's pin
    incumbent: Callable[[Tried], Policy | None]  # the policy in force, if the round from original is to plan it too
    explores: bool = False  # options beyond the rules may be tried

    @cached_property
    def base(self) -> Verdict | None:
        """The accepted verdict whose policy this round starts from. None: the round that starts from original.

        The next round starts from the best accepted policy, once nothing is left to try in the round before.
        """
        last = self.decisions[-1].policy_before if self.decisions else ORIGINAL
        started = next((v for v in self.accepted if v.policy == last), None)
        if not self._decided_from(last) or not self._replanned_from(last) or self.unjudged:
            return started
        return min(self.accepted, key=by_proven_gain, default=None)

    @property
    def base_policy(self) -> Policy:
        """What this round adds to."""
        return self.base.policy if self.base else ORIGINAL

    @property
    def decided(self) -> bool:
        """Whether the rules were asked about the policy that this round starts from."""
        return self._decided_from(self.base_policy)

    @property
    def replanned(self) -> bool:
        """Every proposal that should be planned by now was: the first ones, and combinations of what was accepted."""
        return self._replanned_from(self.base_policy)

    @property
    def tried(self) -> Tried:
        """What became of each policy that was planned: `dropped`, `kept`, or its verdict."""
        return self._tried_from(self.base_policy)

    @property
    def this_round(self) -> list[Decision]:
        """The decisions about the policy that this round starts from."""
        return self._decisions_on(self.base_policy)

    @cached_property
    def to_explore(self) -> bool:
        """Whether an option beyond the rules is to be chosen: nothing of theirs is open, and the last one was planned.

        Once it was said that none is left, none is until the inputs change or more is accepted. Where something was
        accepted and taken back, nothing more is planned on these inputs.
        """
        if not self.explores or not self.decided or not self.replanned or self.unjudged:
            return False
        if "accept" in self.tried.values():
            return False
        planned = {c.policy for c in self.candidates}
        return all(d.proposes and d.policy_after in planned for d in self.this_round if d.explores)

    @property
    def exploring(self) -> bool:
        """Whether what is open is an option beyond the rules: its trials have only a share of a run."""
        options = {d.policy_after for d in self.this_round if d.explores}
        return any(c.policy in options for c in self.unjudged)

    @property
    def last_asked(self) -> list[Decision]:
        """What is open now comes from these: the option chosen last, or what the rules said."""
        return [d for d in self.this_round if d.explores][-1:] or self.this_round

    def _decisions_on(self, base: Policy) -> list[Decision]:
        return [d for d in self.decisions if d.policy_before == base]

    def _decided_from(self, base: Policy) -> bool:
        return any(d.policy_before == base for d in self.decisions)

    def _replanned_from(self, base: Policy) -> bool:
        proposed = [Proposed.of(d) for d in self._decisions_on(base) if d.proposes]
        tried = self._tried_from(base)
        kept = None if base != ORIGINAL else self.incumbent(tried)
        open_ones = (*next_singles(proposed, tried), combination(proposed, tried), kept)
        return self._decided_from(base) and not any(open_ones)

    def _tried_from(self, base: Policy) -> Tried:
        """As a round sees it: what was accepted before, and not decided from its base, is no answer of this round."""
        judged: dict[Policy, str] = {v.policy: v.outcome for v in self.verdicts}
        planned = {c.policy: "kept" if c.kept else "dropped" for c in self.candidates}
        found = {policy: judged.get(policy, state) for policy, state in planned.items()}
        answers = self._answers_to(base) if base != ORIGINAL else set()
        return {
            policy.id: state
            for policy, state in found.items()
            if base == ORIGINAL or state != "accept" or (policy != base and (base.within(policy) or policy in answers))
        }

    def _answers_to(self, base: Policy) -> set[Policy]:
        """What was planned for the decisions about this policy. Their ids are hashes: asked for only where needed."""
        asked = {d.id for d in self._decisions_on(base)}
        return {c.policy for c in self.candidates if not asked.isdisjoint(c.decision_ids)}


def by_proven_gain(verdict: Verdict) -> tuple[float, str]:
    """The interval that ends lowest comes first."""
    return verdict.gain.high if verdict.gain else float("inf"), verdict.policy.id
