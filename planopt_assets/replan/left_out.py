"""Parts of an accepted combination that may do harm: the combination is tried without each of its proposals. Pure.

A combination is tried before its parts. If it is accepted, a part that costs a little rides along with one that gains
much. So, once the combination is confirmed, each of its proposals is left out in turn, against the combination itself.

Worked: A+B+C is in force. A+B, A+C and B+C are tried against it. If A+C is accepted, it is 3 % better or more: B harms.

A round from an accepted policy proposes that policy with a change: of A+B, proposed beyond A, only B is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from planopt_assets.decide.materiality import HORIZON_DAYS
from planopt_assets.model.policy import Policy

EXECUTIONS = 8  # of a trial that is settled early
HARM = 0.03  # of a run: the smallest gain that the judge accepts


def left_out(whole: Policy, proposals: Sequence[Policy]) -> tuple[Policy, ...]:
    """The combination without one proposal, for each of them. Nothing if it is no combination.

    >>> a, b, c = (Policy.of({name: "1"}) for name in "abc")
    >>> [p.describe() for p in left_out(a.merged(b).merged(c), [a, b, c])]
    ['b=1, c=1', 'a=1, c=1', 'a=1, b=1']
    >>> [p.describe() for p in left_out(a.merged(b).merged(c), [a, a.merged(b), a.merged(c)])]
    ['b=1, c=1', 'a=1, c=1', 'a=1, b=1']
    >>> left_out(a, [a])
    ()
    """
    inside = [one for one in dict.fromkeys(proposals) if one != whole and one.within(whole)]
    rests = (whole.beyond(_own(one, inside)) for one in inside)
    return tuple(dict.fromkeys(rest for rest in rests if rest.parts and rest != whole))


def _own(proposal: Policy, others: Sequence[Policy]) -> Policy:
    """What a proposal changes beside those that it contains. Nothing of a combination of others."""
    return reduce(Policy.beyond, (one for one in others if one != proposal and one.within(proposal)), proposal)


def worth_leaving_out(runs_per_day: float) -> bool:
    """Whether a harm of 3 % costs more until the horizon than finding it.

    Worked: 3 % of a run, 24 runs a day for 30 days, is as much as 21.6 runs. A trial takes about 8: worth it. With 8
    runs a day it is 7.2 runs: not worth it.

    >>> worth_leaving_out(24), worth_leaving_out(8)
    (True, False)
    """
    return HARM * runs_per_day * HORIZON_DAYS > EXECUTIONS
