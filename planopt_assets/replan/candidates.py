"""Which policies to plan next: a few proposals by themselves, and together what stands alone; fewest executions first.

A pass plans the three proposals that promise most, and those of them that change the plan together, as a trial of its
own. What comes after depends on the verdicts. Worked: A, B and C are planned with A+B+C; A and B are accepted, C and
A+B+C are not. The next pass plans A+B. If none were accepted, the next pass would plan the next three proposals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planopt_assets.model.decision import Decision
from planopt_assets.model.policy import Policy

AT_ONCE = 3

Tried = dict[str, str]
"""Policy id -> `dropped`, `kept` (planned, not judged yet), or the outcome of its verdict."""

Planned = tuple[Policy, tuple[str, ...]]
"""A policy with the decisions behind it."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """What a decision proposes: the policy, and what it gains at least, in what the objective counts."""

    decision_id: str
    policy: Policy
    gain_ns: int

    @staticmethod
    def of(decision: Decision) -> Proposed:
        return Proposed(decision.id, decision.policy_after, decision.gain_ns)


def next_singles(proposed: Sequence[Proposed], tried: Mapping[str, str]) -> tuple[Planned, ...]:
    """The next proposals to plan by themselves; none while one waits for its verdict or was accepted."""
    if {"kept", "accept"} & set(tried.values()):
        return ()
    found: dict[Policy, tuple[str, ...]] = {}
    for one in by_gain(proposed):
        if one.policy.id not in tried:
            found[one.policy] = (*found.get(one.policy, ()), one.decision_id)
    return tuple(found.items())[:AT_ONCE]


def combination(proposed: Sequence[Proposed], tried: Mapping[str, str]) -> Planned | None:
    """All proposals that hold by themselves, as one policy; None where that is nothing new.

    Where two do not go together (one knob, two values), the one that gains more is in.
    """
    together: Policy | None = None
    ids: tuple[str, ...] = ()
    for one in by_gain(proposed):
        if tried.get(one.policy.id) not in ("kept", "accept"):
            continue
        if together is None or not together.conflicts_with(one.policy):
            together = one.policy if together is None else together.merged(one.policy)
            ids = (*ids, one.decision_id)
    return (together, ids) if together is not None and together.id not in tried else None


def by_gain(proposed: Sequence[Proposed]) -> list[Proposed]:
    """The largest expected gain first; equal ones in the order of the rules."""
    return sorted(proposed, key=lambda p: -p.gain_ns)
