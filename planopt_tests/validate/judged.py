"""Pairs for the judge, with numbers that can be worked out."""

from __future__ import annotations

from typing import Any

from planopt_assets.model.counters import Counters
from planopt_assets.model.verdict import Judgement
from planopt_assets.validate.judge import judge
from planopt_assets.validate.judge_rules import Rules
from planopt_assets.validate.pairs import Pair
from planopt_tests.measured import counters

RULES = Rules()
# What an execution takes may vary by a fifth; these are fixed so that every number below can be worked out.
NOISE = (1.00, 1.02, 0.99, 1.01, 0.98, 1.00, 1.03, 0.97, 1.01)


def pair(baseline: Counters, candidate: Counters) -> Pair:
    return Pair((baseline,), (candidate,))


def pairs_of(ratio: float, count: int = 9, **candidate: Any) -> list[Pair]:
    """Pairs whose candidate takes `ratio` of the baseline's CPU and wall, with a little noise."""
    noise = [NOISE[n % len(NOISE)] for n in range(count)]
    return [pair(counters(cpu_s=3.0), counters(cpu_s=3.0 * ratio * n, **candidate)) for n in noise]


def verdict_on(pairs: list[Pair], objective: Any = "cpu", *, done: bool = True, rules: Rules = RULES) -> Judgement:
    verdict = judge(pairs, objective=objective, rules=rules, done=done)
    assert verdict is not None
    return verdict


def criterion(verdict: Judgement, name: str) -> Any:
    (found,) = [c for c in verdict.criteria if c.name == name]
    return found
