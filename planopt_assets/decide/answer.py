"""What a rule answers, before materiality and veto have looked at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planopt_assets.model.decision import Arithmetic, DecisionKind


@dataclass(frozen=True, slots=True)
class Answer:
    """Settings to try with the saving a rule expects at least, or the reason for none."""

    kind: DecisionKind
    reason: str
    settings: tuple[tuple[str, str], ...]
    saved_cpu_ns: int  # per run of all bindings, lower end
    arithmetic: Arithmetic


def propose(
    settings: dict[str, str], reason: str, *, saved_cpu_ns: int, arithmetic: Mapping[str, int | float | str]
) -> Answer:
    return Answer("proposal", reason, tuple(sorted(settings.items())), saved_cpu_ns, tuple(arithmetic.items()))


def no_change(reason: str, arithmetic: Mapping[str, int | float | str]) -> Answer:
    return Answer("no_change", reason, (), 0, tuple(arithmetic.items()))
