"""The race: when the judge looks and how sure it must be each time, who gets how much time, and who need not go on.

Looking again and again finds a lucky moment sooner or later. So each way to an accept has a whole that it may spend
on error, and every look spends a part of it. The parts are added up (union bound), which holds however much the
looks depend on each other.

    clocks alone     looks at 6, 9, 12, 15 and 18 pairs, each with an interval of 99.9 %, so 0.05 % above it:
                     together at most 0.25 % that a candidate without a gain of 3 % is accepted
    clocks confirm   looks at 3, 4, 5, 6, 9, 12 and 18 pairs, which share 5 %, half of it at the first (`SPENT`):
                     together at most 5 % that a candidate whose counters fell, but whose CPU did not, is accepted

The second bound is wider because counters have spoken before, and it is not reached: every pair has to agree and the
other clock may not be longer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planopt_assets.model.arm import Arm
from planopt_assets.model.verdict import NOT_TRIED
from planopt_assets.validate.judge_rules import Rules


def strict_look(pairs: int, rules: Rules, *, done: bool) -> bool:
    """Do the clocks alone count at this number of pairs? The end of the budget takes the place of the next look.

    >>> [n for n in range(19) if strict_look(n, Rules(), done=False)]
    [6, 9, 12, 15, 18]
    """
    if pairs < rules.min_pairs:
        return False
    return done or pairs >= rules.max_pairs or (pairs - rules.min_pairs) % rules.look_every == 0


SPENT = {3: 0.50, 4: 0.15, 5: 0.10, 6: 0.05, 9: 0.08, 12: 0.06, 18: 0.06}  # pairs -> share of the error


def confirming_confidence(pairs: int, rules: Rules, *, done: bool) -> float | None:
    """Two-sided confidence at which the clocks must confirm what counters show; None where this is no look.

    >>> [confirming_confidence(n, Rules(), done=False) for n in (2, 3, 4, 7)]
    [None, 0.95, 0.985, None]
    >>> confirming_confidence(7, Rules(), done=True)  # the end of the budget takes the place of the look at 9
    0.992
    """
    look = min((n for n in SPENT if n >= pairs), default=None)
    if look is None or pairs < rules.confirm_pairs or (look != pairs and not done):
        return None
    return round(1 - 2 * rules.confirm_error * SPENT[look], 6)


def time_limit(baseline_walls: Sequence[float], rules: Rules) -> float | None:
    """Seconds a candidate may take for one binding; None while the baseline has not shown what it takes.

    >>> time_limit([3.0, 40.0], Rules()), time_limit([3.0], Rules())
    (80.0, 10.0)
    """
    if not baseline_walls:
        return None
    return max(rules.timeout_floor_s, rules.timeout_factor * max(baseline_walls))


def next_runners(waiting: Sequence[Arm], work: Mapping[str, int]) -> list[Arm]:
    """Who runs in the next round, of all that are not settled; `work` is what each did in its first run, by its id.

    An arm that is part of another waits until the whole has failed. The rest have a first run together. Then only
    the one that did the least work meets the baseline; the others wait until it is settled.

    >>> from planopt_assets.model.policy import Policy
    >>> fewer, larger = Policy.of({"partitions": "8"}), Policy.of({"splits": "64m"})
    >>> policies = fewer, larger, fewer.merged(larger), Policy.of({"partitions": "2"})
    >>> fewer, larger, both, other = map(Arm, policies)
    >>> next_runners([fewer, larger, both, other], {}) == [both, other]
    True
    >>> next_runners([fewer, larger, both, other], {both.id: 700, other.id: 900}) == [both]
    True
    >>> next_runners([fewer, larger, other], {both.id: 700, other.id: 900}) == [fewer, larger]
    True
    """
    whole = [a for a in waiting if not any(a is not other and a.within(other) for other in waiting)]
    fresh = [a for a in whole if a.id not in work]
    return fresh or sorted(whole, key=lambda a: work[a.id])[:1]


def outrun(arm: Arm, winner: Arm) -> str:
    """Why a candidate that was waiting need not run once another is accepted; empty where both could be in force.

    Worked: fewer partitions and larger splits fail together, then fewer partitions are accepted alone. Larger splits go
    on: if they are accepted too, another combination may be made of what is. Even fewer partitions are outrun.
    """
    if arm.within(winner):
        return f"{NOT_TRIED}: it is part of {winner.policy.describe()}, which is accepted"
    if not arm.policy.conflicts_with(winner.policy):
        return ""
    return f"outrun: {winner.policy.describe()} is accepted, and both cannot be in force"
