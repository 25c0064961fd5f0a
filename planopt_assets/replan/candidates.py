"""Chooses the policies to plan next: a few single proposals and their combination, so that few executions are needed.

A pass plans the three proposals with the largest expected gain, and the combination of those that change the plan. The
next pass depends on the verdicts. Worked: A, B, C and A+B+C are planned. A and B are accepted, C and A+B+C are not. The
next pass plans A+B. If none were accepted, it would plan the next three proposals.

What most other queries gained from goes before all of them, whatever it promises. Worked: M promises least, and sets
another value than A. M, A and B are planned, and M+B: A is not in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planopt_assets.model.decision import Decision
from planopt_assets.model.policy import ORIGINAL, Policy

AT_ONCE = 3

Tried = dict[str, str]
"""Policy id -> `dropped`, `kept` (planned, no verdict yet), or the outcome of its verdict."""

Planned = tuple[Policy, tuple[str, ...]]
"""A policy with the decisions behind it."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """The policy that a decision proposes, and its expected gain in the metric of the objective.

    `first`: it goes before the others. `no_room_beside_hints`: the driver cannot hold what it broadcasts together with
    what a hint does.
    """

    decision_id: str
    policy: Policy
    gain_ns: int
    first: bool = False
    no_room_beside_hints: bool = False

    @property
    def broadcasts(self) -> bool:
        """Whether a hint of it does, whatever the threshold is."""
        return any(hint.broadcasts for hint in self.policy.hints)

    @staticmethod
    def of(decision: Decision) -> Proposed:
        return Proposed(
            decision.id, decision.policy_after, decision.gain_ns, decision.goes_first, decision.no_room_beside_hints
        )


def next_singles(proposed: Sequence[Proposed], tried: Mapping[str, str]) -> tuple[Planned, ...]:
    """The next single proposals to plan. None while one waits for its verdict or was accepted."""
    if {"kept", "accept"} & set(tried.values()):
        return ()
    found: dict[Policy, tuple[str, ...]] = {}
    for one in in_turn(proposed):
        if one.policy.id not in tried:
            found[one.policy] = (*found.get(one.policy, ()), one.decision_id)
    return tuple(found.items())[:AT_ONCE]


def combination(proposed: Sequence[Proposed], tried: Mapping[str, str]) -> Planned | None:
    """All kept or accepted single proposals as one policy. None if that policy is not new.

    If two conflict (one knob, two values), or the driver cannot hold the broadcasts of both, the one that goes first is
    used, else the one with the larger gain.
    """
    together, chosen = ORIGINAL, list[Proposed]()
    for one in in_turn(proposed):
        if tried.get(one.policy.id) not in ("kept", "accept"):
            continue
        if not together.conflicts_with(one.policy) and not any(_too_large(one, other) for other in chosen):
            together, chosen = together.merged(one.policy), [*chosen, one]
    return (together, tuple(one.decision_id for one in chosen)) if chosen and together.id not in tried else None


def _too_large(one: Proposed, other: Proposed) -> bool:
    """Whether the driver has no room for what both broadcast."""
    return (one.no_room_beside_hints and other.broadcasts) or (other.no_room_beside_hints and one.broadcasts)


def incumbent(policy: Policy, tried: Mapping[str, str], *, suspended: bool) -> Policy | None:
    """The policy in force, if it should be planned now. None: it was, or it is original, which is always an arm.

    It meets every candidate that is tried, whether or not a rule proposes it again: its verdict shows that it still
    deserves its place. A suspended one is tried even alone.
    """
    tries = suspended or "kept" in tried.values()
    return policy if tries and policy != ORIGINAL and policy.id not in tried else None


def in_turn(proposed: Sequence[Proposed]) -> list[Proposed]:
    """What goes first, then the largest expected gain. Ties keep the order of the rules."""
    return sorted(proposed, key=lambda p: (not p.first, -p.gain_ns))
