"""What a query can carry of a policy: half of one was never proven, so a part nobody applies is an error."""

from __future__ import annotations

from planopt_assets.errors import PolicyNotApplied
from planopt_assets.model.hint import Hint
from planopt_assets.model.part import Part
from planopt_assets.model.policy import Policy
from planopt_assets.model.rewrite import Rewrite
from planopt_assets.model.setting import Setting

CARRIED: tuple[type[Part], ...] = (Setting, Hint, Rewrite)
"""The kinds of parts that reach a query through its session, its text or its plan."""


def not_carried(policy: Policy) -> str:
    """Why a query cannot carry all of a policy; empty where it can."""
    left = [part for part in policy.parts if not isinstance(part, CARRIED)]
    return f"{left[0].kind} not applied: no query can carry {left[0].describe()}" if left else ""


def check_carried(policy: Policy) -> None:
    if why := not_carried(policy):
        raise PolicyNotApplied(why, where=policy.id, fix="run the query as original, or upgrade planopt")
