"""Confirmation by the user's own runs: under the policy in force they are cheaper than control runs. Pure.

A control is a run of the same job that was drawn to run as original. It is ranked among its neighbours, the runs under
the policy before and after it (`against_controls`), so that both saw the same days, tables and machines. Without a gain
it is dearer than most of them in at most every second case. So the number of such controls is a sign test, looked at
when 4, 8 and 16 controls have their neighbours:

    controls           4        8        16
    dearer, at least   4        7        12
    by chance        6.3 %    3.5 %    3.8 %     in all at most 14 %

A control gets its neighbours once, in the order they ran, and no later run changes them. So the first 4 controls stay
the first 4, and it does not matter how often somebody looks.

Whether runs are dearer than their controls is for watch to say. This only confirms.
"""

from __future__ import annotations

from collections.abc import Sequence

from planopt_assets.model.execution import Execution
from planopt_assets.model.promotion import Promotion
from planopt_assets.promote.against_controls import ranked_controls

CLOCK = {"cpu": "executor_cpu_ns", "latency": "wall_ns", "bytes": "scan_bytes"}
"""By objective. Of a user's job the CPU of the driver is not known."""

LOOKS = {4: 4, 8: 7, 16: 12}  # controls -> how many of them must be dearer


def confirmed_by_runs(active: Promotion, ran: Sequence[Execution], objective: str) -> str:
    """In words that the runs confirm the policy in force. Empty if they do not, or not yet; `ran` is oldest first."""
    since = [r for r in ran if r.source == "production" and r.stamp.later_than(active.stamp)]
    usable = [r for r in since if r.status != "failed" and r.action != "other" and not r.disturbed]
    under_policy, controls = [r for r in usable if r.policy_id == active.policy.id], [r for r in usable if r.control]
    clock = CLOCK[objective]
    found = [one.dearer for one in ranked_controls(clock, 1.0, under_policy, controls)]
    for looked, least in LOOKS.items():
        if len(found) >= looked and (dearer := sum(found[:looked])) >= least:
            return f"{clock} of {dearer} of {looked} control runs is above that of most runs next to them"
    return ""
