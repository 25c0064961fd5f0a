"""Suspension: a policy in force is not applied while its evidence does not hold for the tables as they are. Pure.

It is no row: it follows from the conditions of the policy and the heads of the tables, so it cannot go stale. It ends
when the sizes return, or when a verdict on the new inputs accepts the policy again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from planopt_assets.model.conditions import Conditions, TableState
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.promotion import Chain

NOT_RECORDED = "it was promoted before planopt recorded what its evidence depends on: it is tried again at the next run"


def recorded(chain: Chain) -> tuple[Conditions, ...]:
    """The conditions under which the policy in force was proven, newest first: its generations since it is in force.

    A table that is compacted every other night has two sizes. Once the policy was proven on both, it holds on both.
    """
    same = takewhile(lambda p: p.policy == chain[-1].policy and not p.fixed, reversed(chain))
    return tuple(p.conditions for p in same if p.conditions is not None)


def suspension(chain: Chain, tables: Sequence[TableState], factor: float) -> str:
    """Why the policy in force is not to be applied to these tables. Empty if it is. A person's pin always is."""
    if not chain or chain[-1].fixed or chain[-1].policy == ORIGINAL:
        return ""
    known = recorded(chain)
    if not known:
        return NOT_RECORDED
    reasons = [one.suspended_by(tables, factor) for one in known]
    return reasons[0] if all(reasons) else ""


def fitting(chain: Chain, tables: Sequence[TableState], factor: float) -> tuple[Conditions, ...]:
    """Of the recorded conditions those that hold for these tables."""
    return tuple(one for one in recorded(chain) if not one.suspended_by(tables, factor))


def covered(chain: Chain, conditions: Conditions | None, factor: float) -> bool:
    """Whether the policy in force was proven in such circumstances already: a new proof of it tells nothing new."""
    return conditions is None or any(one.cover(conditions, factor) for one in recorded(chain))
