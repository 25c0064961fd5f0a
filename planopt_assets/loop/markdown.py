"""Verdicts as Markdown, for Dagster and for `planopt why`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planopt_assets.model.policy import Policy
    from planopt_assets.model.verdict import Criterion, Judgement


def verdict_markdown(policy: Policy, judgement: Judgement) -> str:
    """The verdict and every criterion with both values."""
    lines = [f"**{judgement.outcome}** `{policy.describe()}`: {judgement.reason} ({judgement.pairs} pairs)", ""]
    if judgement.criteria:
        lines += ["| criterion | passed | baseline | candidate | threshold | note |", "|---|---|---|---|---|---|"]
        lines += [_line(c) for c in judgement.criteria]
    return "\n".join(lines)


def _line(c: Criterion) -> str:
    passed = {True: "yes", False: "**no**", None: "?"}[c.passed]
    cells = [c.name, passed, _number(c.name, c.baseline), _number(c.name, c.candidate), c.threshold, c.note]
    return f"| {' | '.join(cells)} |"


def _number(name: str, value: float | None) -> str:
    if value is None:
        return ""
    if name == "baseline_noise":
        return f"{value:.0%}"
    timed = name.endswith("_ns") or name in ("objective:cpu", "objective:latency")
    return f"{value / 1e9:.3f} s" if timed else f"{value:,.0f}"
