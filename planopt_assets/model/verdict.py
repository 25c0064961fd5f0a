"""What the judge says about a candidate, and the stored verdict made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from planopt_assets.model.conditions import Conditions
from planopt_assets.model.policy import Policy
from planopt_assets.model.stamp import NOT_STORED, Stamp

Outcome = Literal["accept", "reject", "inconclusive"]
Purpose = Literal["try", "confirm", "leave_out", "add"]
"""Why candidates were tried: to put the best one in force, to confirm the one that is, to leave out a part of it, or to
add to a policy that was accepted before.

The third are tried against the policy in force, the last against the accepted policy, all others against original.
"""
NOT_TRIED = "not tried by itself"  # how the reason of a verdict begins that no execution is behind
RESULTS_EQUAL, WORK, OBJECTIVE = "results_equal", "work_ns", "objective:"
"""Criteria that others look for by name, or by how it begins. `work_ns` may stay undecided: clocks can do alone."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing the judge looked at; `passed` is None when it could not be decided."""

    name: str
    passed: bool | None
    baseline: float | None
    candidate: float | None
    threshold: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Gain:
    """Candidate over baseline of one metric: below 1 is better; `low` and `high` bound the true ratio."""

    metric: str
    ratio: float
    low: float
    high: float
    confidence: float | None = None  # of the interval; None: all pairs are the same, or stored before it was kept

    def after(self, before: Gain) -> Gain:
        """Of two changes, one after the other: this one was measured where the other was made before.

        Either interval may miss the truth, so their chances to miss add up.

        >>> Gain("cpu", 0.9, 0.8, 0.95, 0.99).after(Gain("cpu", 0.5, 0.4, 0.8, 0.97)).describe()
        'cpu -55% (-68% to -24% at 96%)'
        """
        known = [c for c in (self.confidence, before.confidence) if c is not None]
        ratio, low, high = self.ratio * before.ratio, self.low * before.low, self.high * before.high
        return Gain(self.metric, ratio, low, high, 1 - sum(1 - c for c in known) if known else None)

    def describe(self) -> str:
        """
        >>> Gain("cpu", 0.70, 0.61, 0.80, 0.95).describe()
        'cpu -30% (-39% to -20% at 95%)'
        >>> Gain("bytes", 0.50, 0.50, 0.50).describe()
        'bytes -50% (-50% to -50%)'
        """
        return f"{self.metric} {self.ratio - 1:+.0%} ({self.low - 1:+.0%} to {self.high - 1:+.0%}{self._at})"

    def as_ratio(self) -> str:
        """
        >>> Gain("cpu", 0.70, 0.61, 0.80, 0.999).as_ratio()
        '0.700 (0.610 to 0.800 at 99.9%)'
        """
        return f"{self.ratio:.3f} ({self.low:.3f} to {self.high:.3f}{self._at})"

    @property
    def _at(self) -> str:
        return "" if self.confidence is None else f" at {100 * self.confidence:.4g}%"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judge's answer for one candidate, with every criterion it looked at."""

    outcome: Outcome
    reason: str
    results_equal: bool | None
    criteria: Sequence[Criterion]
    gain: Gain | None
    pairs: int

    @property
    def doubt(self) -> str:
        """Why this is no proof that the candidate is equal and better, by its criteria. Empty if it is one.

        The word `accept` alone proves nothing: a row may be damaged or edited. The judge never accepts with a criterion
        that did not pass.

        >>> Judgement("accept", "cpu -30%", True, (), None, 9).doubt
        'it has no criterion results_equal that passed'
        """
        if self.outcome != "accept":
            return f"it says {self.outcome}"
        if self.results_equal is not True:
            return "its results are not known to be equal"
        open_ones = [c for c in self.criteria if c.passed is not True and not (c.name == WORK and c.passed is None)]
        if open_ones:
            return f"its criterion {open_ones[0].name} did not pass"
        passed = [c.name for c in self.criteria if c.passed is True]
        if RESULTS_EQUAL not in passed:
            return f"it has no criterion {RESULTS_EQUAL} that passed"
        if not any(name.startswith(OBJECTIVE) for name in passed):
            return "it has no criterion of the objective that passed"
        return ""

    @property
    def objective(self) -> str | None:
        """What was to be improved. None: it was settled before that was looked at.

        >>> Judgement("accept", "", True, (Criterion("objective:cpu", True, 3.0, 2.0, ""),), None, 3).objective
        'cpu'
        """
        named = (c.name.removeprefix(OBJECTIVE) for c in self.criteria if c.name.startswith(OBJECTIVE))
        return next(named, None)

    @property
    def found_worse(self) -> bool:
        """Whether the candidate is worse, not just without a gain: another result, a broken guard, or slower."""
        if self.results_equal is False:
            return True
        if self.outcome == "accept":
            return False
        slower = self.gain is not None and self.gain.low > 1.0
        return slower or any(c.passed is False for c in self.criteria if not c.name.startswith(OBJECTIVE))


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judgement on one candidate of one query, with the inputs it was given on and the trials it rests on."""

    id: str
    query_id: str
    candidate_id: str
    policy: Policy
    judgement: Judgement
    trial_ids: Sequence[str]
    input_fingerprint: str
    # With these three, a later run tells whether the verdict still counts on its own inputs.
    canonical_fingerprint: str | None = None  # None: judged before planopt kept it
    context_hash: str | None = None
    input_bytes: int | None = None  # all of the tables read
    seed: int | None = None
    judge_version: str | None = None
    executions: int | None = None  # the trials, and those of row-by-row comparisons
    # The error budget of the query; None: judged before planopt kept it.
    error_available: float | None = None  # that this trial might make
    error_spent: float | None = None  # by its looks at clocks
    purpose: Purpose | None = None  # None: judged before planopt confirmed
    conditions: Conditions | None = None  # what it was given under; None: judged before planopt kept it
    stamp: Stamp = field(default=NOT_STORED, compare=False)

    @property
    def outcome(self) -> Outcome:
        return self.judgement.outcome

    @property
    def accepted(self) -> bool:
        """What it says; `proven` is what its criteria show."""
        return self.judgement.outcome == "accept"

    @property
    def confirms(self) -> bool:
        """A trial of the policy in force. It puts nothing in force."""
        return self.purpose == "confirm"

    @property
    def leaves_out(self) -> bool:
        """A trial of the policy in force without one of its parts, against the policy in force."""
        return self.purpose == "leave_out"

    def counts_beside(self, in_force: Policy) -> bool:
        """Whether it tells how its policy compares with original, as long as this one is in force.

        Without a part it was better than the whole, and the whole was better than original. If the whole was taken back
        since, nothing is known of the rest.
        """
        return not self.leaves_out or self.policy.within(in_force)

    @property
    def against_original(self) -> bool:
        """Whether the candidate was compared with original. What other verdicts reject may still beat original."""
        return self.purpose not in ("leave_out", "add")

    @property
    def proven(self) -> bool:
        return self.accepted and not self.judgement.doubt

    @property
    def reason(self) -> str:
        return self.judgement.reason

    @property
    def results_equal(self) -> bool | None:
        return self.judgement.results_equal

    @property
    def gain(self) -> Gain | None:
        return self.judgement.gain

    @property
    def found_worse(self) -> bool:
        return self.judgement.found_worse

    @property
    def error_words(self) -> str:
        """What it might take of the query's error budget, and took. Empty where nothing is known about that."""
        if self.error_available is None or self.error_spent is None or self.confirms:
            return ""
        return f"error {100 * self.error_spent:.3g}% of {100 * self.error_available:.3g}%"
