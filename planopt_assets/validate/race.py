"""The race: when the judge looks, with which confidence, how long a candidate may run, and which one runs next.

Repeated looks inflate false accepts. A trial has an error budget (`error_budget.py`), split over both paths to an
accept and over their looks (alpha spending). The shares add up (union bound), so the budget holds however the looks
depend on each other. For the first trial of a query, which may err in 3 %:

    clocks alone     looks at 6, 9, 12, 15 and 18 pairs. They share a tenth: 0.06 % each, a 99.88 % interval. In all: at
                     most 0.3 % that a candidate without a gain of 3 % is accepted.
    clocks confirm   looks at 3, 4, 5, 6, 9, 12 and 18 pairs. They share the rest (`SPENT`). In all: at most 2.7 % that
                     a candidate whose counters fell, but whose CPU did not, is accepted.

The second share is larger because counters have already shown less work. The true error is smaller: nearly all pairs
must agree, and the other clock may not be longer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from planopt_assets.model.arm import Arm
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.verdict import NOT_TRIED, Judgement
from planopt_assets.validate.judge_rules import Rules


def strict_look(pairs: int, rules: Rules, *, done: bool) -> bool:
    """Whether clocks alone may decide at this number of pairs. When time runs out (`done`), the next look is used up.

    >>> [n for n in range(19) if strict_look(n, Rules(), done=False)]
    [6, 9, 12, 15, 18]
    """
    if pairs < rules.min_pairs:
        return False
    return done or pairs >= rules.max_pairs or (pairs - rules.min_pairs) % rules.look_every == 0


SPENT = {3: 0.40, 4: 0.25, 5: 0.10, 6: 0.05, 9: 0.05, 12: 0.05, 18: 0.10}  # pairs -> share of the error budget


def confirming_confidence(pairs: int, rules: Rules, *, done: bool) -> float | None:
    """Two-sided confidence with which the clocks must confirm what counters show. None: no look at this many pairs.

    >>> [confirming_confidence(n, Rules(), done=False) for n in (2, 3, 4, 7)]
    [None, 0.9784, 0.9865, None]
    >>> confirming_confidence(7, Rules(), done=True)  # time runs out: this uses up the look at 9
    0.9973
    """
    look = min((n for n in SPENT if n >= pairs), default=None)
    if look is None or pairs < rules.confirm_pairs or (look != pairs and not done):
        return None
    return 1 - 2 * rules.confirm_error * SPENT[look]


def time_limit(baseline_walls: Sequence[float], rules: Rules) -> float | None:
    """Time limit of a candidate for one binding, in seconds. None while the baseline has no run yet.

    >>> time_limit([3.0, 40.0], Rules()), time_limit([3.0], Rules())
    (80.0, 10.0)
    """
    if not baseline_walls:
        return None
    return max(rules.timeout_floor_s, rules.timeout_factor * max(baseline_walls))


def outdone_limit(baseline_s: Sequence[float], rules: Rules) -> float | None:
    """Seconds, of what the objective counts, after which a counted run of a candidate is stopped at once.

    One run that is so much dearer than the dearest run of the baseline speaks against the candidate more than any other
    pair could speak for it. Half is left for chance: a good candidate too has a slow run now and then. With a quarter,
    one gain of 15 % in ten is lost where runs come in bursts; with half, none in the simulated year. None while the
    baseline has no run yet, and where no run is ever outdone.

    >>> outdone_limit([3.0, 4.0], Rules()), outdone_limit([0.5], Rules()), outdone_limit([], Rules())
    (6.0, 2.0, None)
    """
    if not baseline_s or math.isinf(rules.outdone_factor):
        return None
    return max(rules.outdone_floor_s, rules.outdone_factor * max(baseline_s))


def next_runners(waiting: Sequence[Arm], work: Mapping[str, int], first: Policy = ORIGINAL) -> list[Arm]:
    """The arms of the next round, out of those not settled. `work` holds the work of each arm's first run, by its id.

    A part of a combination waits until the combination has failed. The others do their first run in one round. Then
    the one with the least work runs in pairs with the baseline. The rest wait until it is settled. The policy `first`
    goes before all others, their first runs too, unless it is a part that waits.

    >>> fewer, larger = Policy.of({"partitions": "8"}), Policy.of({"splits": "64m"})
    >>> policies = fewer, larger, fewer.merged(larger), Policy.of({"partitions": "2"})
    >>> fewer, larger, both, other = map(Arm, policies)
    >>> next_runners([fewer, larger, both, other], {}) == [both, other]
    True
    >>> next_runners([fewer, larger, both, other], {both.id: 700, other.id: 900}) == [both]
    True
    >>> next_runners([fewer, larger, other], {both.id: 700, other.id: 900}) == [fewer, larger]
    True
    >>> next_runners([fewer, larger, both, other], {}, larger.policy) == [both, other]
    True
    >>> next_runners([fewer, larger, other], {both.id: 700, other.id: 900}, larger.policy) == [larger]
    True
    """
    whole = [a for a in waiting if not any(a is not other and a.within(other) for other in waiting)]
    whole = [a for a in whole if a.policy == first] or whole
    fresh = [a for a in whole if a.id not in work]
    return fresh or sorted(whole, key=lambda a: work[a.id])[:1]


def outrun(arm: Arm, winner: Arm) -> str:
    """Why a waiting candidate need not run after another was accepted. Empty if both could be in force together.

    Worked: fewer partitions and larger splits fail as a combination. Then fewer partitions are accepted alone. Larger
    splits still run: if accepted too, they may join a new combination. Even fewer partitions are outrun.
    """
    if arm.within(winner):
        return f"{NOT_TRIED}: it is part of {winner.policy.describe()}, which is accepted"
    if not arm.policy.conflicts_with(winner.policy):
        return ""
    return f"outrun: {winner.policy.describe()} is accepted, and the two cannot be in force together"


def too_small_a_part(arm: Arm, whole: Arm, verdict: Judgement, rules: Rules) -> str:
    """Why a part of a combination that failed need not run. Empty if it may be what the others hid, or spoiled.

    Worked: fewer partitions and no page index together take 5 % less CPU, and noise hides it. If half of that is due to
    the partitions, 2.5 % are no gain. History remembers that, as it does what was tried. If together they take 10 %
    *more*, or break a guard, one of them may do harm, and the other is tried.
    """
    if not arm.within(whole) or verdict.gain is None or verdict.outcome == "accept" or not verdict.results_equal:
        return ""
    harm = [c for c in verdict.criteria if c.passed is False and not c.name.startswith("objective")]
    if harm or abs(1 - verdict.gain.ratio) >= 2 * rules.min_gain:
        return ""
    return f"part of {whole.policy.describe()}, which changes too little: {verdict.gain.describe()}"


def looked_error(pairs: int, rules: Rules, *, done: bool) -> float:
    """What a trial has spent of its error after this many pairs: the shares of all looks so far, on both paths.

    >>> [round(looked_error(n, Rules(), done=False), 6) for n in (2, 3, 6, 18)]
    [0.0, 0.0108, 0.0222, 0.03]
    """
    confirmed = alone = 0.0
    for number in range(1, pairs + 1):
        over = done and number == pairs
        confidence = confirming_confidence(number, rules, done=over)
        confirmed += (1 - confidence) / 2 if confidence else 0.0
        alone += (1 - rules.confidence) / 2 if strict_look(number, rules, done=over) else 0.0
    return confirmed + alone
