"""The race: when the judge looks and how sure it must be each time, who gets how much time, and who need not go on.

Looking again and again finds a lucky moment sooner or later. So each way to an accept has a whole that it may spend
on error, and every look spends a part of it. The parts are added up (union bound), which holds however much the
looks depend on each other.

    clocks alone     looks at 6, 9, 12, 15 and 18 pairs, each with an interval of 99.9 %, so 0.05 % above it:
                     together at most 0.25 % that a candidate without a gain of 3 % is accepted
    clocks confirm   looks at 3, 4, 5, 6, 9, 12 and 18 pairs, which share 10 %, most of it at the first (`SPENT`):
                     together at most 10 % that a candidate whose counters fell, but whose CPU did not, is accepted

The second bound is wide because counters have spoken before, and it is not reached: every pair has to agree and the
other clock may not be longer. With counters down and simulated clocks that did not follow, 5 to 6 % were accepted;
with clocks 10 % longer, at most 1.3 %.
"""

from __future__ import annotations

from collections.abc import Sequence

from planopt_assets.model.verdict import Verdict
from planopt_assets.validate.pairs import Pair
from planopt_assets.validate.rules import Rules
from planopt_assets.validate.work import work_falls


def strict_look(pairs: int, rules: Rules, *, done: bool) -> bool:
    """Do the clocks alone count at this number of pairs? The end of the budget takes the place of the next look.

    >>> [n for n in range(19) if strict_look(n, Rules(), done=False)]
    [6, 9, 12, 15, 18]
    """
    if pairs < rules.min_pairs:
        return False
    return done or pairs >= rules.max_pairs or (pairs - rules.min_pairs) % rules.look_every == 0


SPENT = {3: 0.40, 4: 0.15, 5: 0.10, 6: 0.10, 9: 0.10, 12: 0.075, 18: 0.075}  # pairs -> share of the error


def confirming_confidence(pairs: int, rules: Rules, *, done: bool) -> float | None:
    """Two-sided confidence at which the clocks must confirm what counters show; None where this is no look.

    >>> [confirming_confidence(n, Rules(), done=False) for n in (2, 3, 4, 7)]
    [None, 0.92, 0.97, None]
    >>> confirming_confidence(7, Rules(), done=True)  # the end of the budget takes the place of the look at 9
    0.98
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


def outrun(pairs: Sequence[Pair], winner: Verdict, rules: Rules) -> str:
    """Why a candidate need not go on once another is accepted: its counters show nothing, only many more runs could.

    One whose counters do show less work stays: it will settle soon, and may be combined with the winner.
    """
    if not pairs or work_falls(pairs, rules).passed:
        return ""
    return f"outrun: another candidate is accepted ({winner.reason}), and only many more runs could tell of this one"
