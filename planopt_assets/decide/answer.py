"""What a rule answers, before materiality and veto have looked at it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from planopt_assets.model.decision import Arithmetic, DecisionKind
from planopt_assets.model.hint import Hint
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.rewrite import Rewrite
from planopt_assets.model.setting import Setting

CLOCK_ONLY: Final = "saves the clock and not CPU; objective `latency` would try it"
"""Ends the reason of a rule that has found idle cores, where the objective does not count the clock."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What to try on top of the policy in force, with the saving a rule expects at least; or the reason for nothing."""

    kind: DecisionKind
    reason: str
    change: Policy  # the parts to add; nothing where nothing is proposed
    saved_cpu_ns: int  # per run of all bindings, lower end
    arithmetic: Arithmetic
    saved_wall_ns: int = 0  # of a change that saves no CPU but lets idle cores help; lower end
    nodes: tuple[int, ...] = ()  # operators of the final plan it touches; empty: it may touch all


def propose(
    settings: Mapping[str, str],
    reason: str,
    *,
    saved_cpu_ns: int = 0,
    saved_wall_ns: int = 0,
    arithmetic: Mapping[str, int | float | str],
    hints: Iterable[Hint] = (),
    rewrites: Sequence[str] = (),
    nodes: Sequence[int] = (),
) -> Answer:
    by_name = sorted(set(hints), key=str)
    change = Policy((*Setting.read(settings), *by_name, *Rewrite.read(rewrites)))
    return Answer("proposal", reason, change, saved_cpu_ns, tuple(arithmetic.items()), saved_wall_ns, tuple(nodes))


def no_change(reason: str, arithmetic: Mapping[str, int | float | str]) -> Answer:
    return Answer("no_change", reason, ORIGINAL, 0, tuple(arithmetic.items()))


def cannot_tell(reason: str, arithmetic: Mapping[str, int | float | str]) -> Answer:
    """The counters that would decide are not there."""
    return Answer("cannot_tell", reason, ORIGINAL, 0, tuple(arithmetic.items()))
