"""Limits of counters as compared with original, for a candidate that was tried against another policy. Pure.

The guards of such a trial compare the candidate with the policy that it adds to, or leaves a part out of. So limits
compound: each of five additions may have nearly twice the tasks of what it is added to, and all together 32 times those
of original. Counters that repeat need no trial to be compared with original: the observation tells them. Clocks do, and
a confirmation on a later day compares those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planopt_assets.model.counters import Counters
from planopt_assets.model.verdict import Judgement
from planopt_assets.validate.guards import counter_guards
from planopt_assets.validate.judge_rules import Rules
from planopt_assets.validate.pairs import Pair, unknown

_COMPARED = (
    *("scan_bytes", "shuffle_write_bytes", "disk_spill_bytes", "memory_spill_bytes", "tasks"),
    "failed_tasks",
)


def within_original(verdict: Judgement, pairs: Sequence[Pair], original: Sequence[Counters], rules: Rules) -> Judgement:
    """The same verdict, or a rejection if an accepted candidate is beyond a limit as compared with `original`.

    `original` is one observed execution for each binding. Without it, or where a counter is unknown, nothing is
    compared.

    Worked: original has 100 tasks, the accepted policy 190, with an addition 361. That is 1.9 times as many, which the
    trial lets pass. Of original it is 3.6 times as many, beyond 2 x 100 + 8: rejected.
    """
    compared = [Pair(tuple(original), p.candidate) for p in pairs]
    if verdict.outcome != "accept" or not original or unknown(compared, _COMPARED):
        return verdict
    broken = next((c for c in counter_guards(compared, rules) if c.passed is False), None)
    if broken is None:
        return verdict
    told = replace(broken, name=f"{broken.name}_of_original")
    reason = f"guard {told.name} broken: {told.note}"
    return replace(verdict, outcome="reject", reason=reason, criteria=(*verdict.criteria, told))
