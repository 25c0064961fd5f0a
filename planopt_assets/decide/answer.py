"""The answer of a rule, before materiality and veto."""

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
"""The end of the reason of a rule that found idle cores, if the objective does not count the clock."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A change to try on top of the policy in force, with its lowest expected saving; or why there is none."""

    kind: DecisionKind
    reason: str
    change: Policy  # the parts to add; empty if nothing is proposed
    saved_cpu_ns: int  # per run of all bindings, lower end
    arithmetic: Arithmetic
    saved_wall_ns: int = 0  # of a change that saves no CPU but uses idle cores; lower end
    nodes: tuple[int, ...] = ()  # operators of the final plan it affects; empty: it may affect all


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
    """The counters needed for an answer are missing."""
    return Answer("cannot_tell", reason, ORIGINAL, 0, tuple(arithmetic.items()))
