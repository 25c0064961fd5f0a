"""The facts of a query's best verdict one by one: numbers that Dagster plots, and texts to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planopt_assets.loop.markdown import verdict_markdown
from planopt_assets.loop.run import StageResult, remark_on
from planopt_assets.model.verdict import OBJECTIVE

if TYPE_CHECKING:
    from planopt_assets.model.verdict import Verdict

_OUTCOMES = ("accept", "inconclusive", "reject")
_CLOCKS = {"cpu_s": (f"{OBJECTIVE}cpu", "cpu_ns"), "wall_s": (f"{OBJECTIVE}latency", "wall_ns")}
"""Seconds by the criteria that hold them: the objective, or a guard."""


def verdict_result(query_id: str, verdicts: Sequence[Verdict], *, trials: int, changed: bool) -> StageResult:
    """The result of validate for a query with verdicts, new ones or those that still stand."""
    best = min(verdicts, key=lambda v: _OUTCOMES.index(v.outcome))
    numbers: dict[str, int | float] = {"trials": trials, "accepted": sum(v.accepted for v in verdicts)}
    words = {"outcome": best.outcome, "policy": best.policy.describe(), **remark_on(*(v.policy for v in verdicts))}
    if best.gain is not None:
        gain = best.gain
        words["gain"] = gain.describe()
        numbers |= {"gain_ratio": gain.ratio, "gain_ratio_low": gain.low, "gain_ratio_high": gain.high}
        numbers["gain_percent"] = 100 * (1 - gain.ratio)
        if gain.confidence is not None:
            numbers["gain_confidence"] = gain.confidence
    markdown = "\n\n".join(verdict_markdown(v.policy, v.judgement) for v in verdicts)
    summary = f"{best.outcome}: {best.reason}"
    return StageResult(query_id, changed, summary, {**numbers, **_seconds(best)}, markdown, words)


def _seconds(verdict: Verdict) -> dict[str, float]:
    """Mean seconds of both sides, where a criterion holds them: `cpu_s_original`, `cpu_s_candidate` and so on."""
    found: dict[str, float] = {}
    for clock, names in _CLOCKS.items():
        held = next((c for c in verdict.judgement.criteria if c.name in names), None)
        if held is not None and held.baseline is not None and held.candidate is not None:
            found |= {f"{clock}_original": held.baseline / 1e9, f"{clock}_candidate": held.candidate / 1e9}
    return found
