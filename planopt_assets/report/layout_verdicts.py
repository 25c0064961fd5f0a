"""Verdicts on layouts, for people and for programs: the charge, what each query read, and what the judge looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from planopt_assets.maintain.charge import charge_words
from planopt_assets.maintain.quantities import in_seconds, number
from planopt_assets.report.columns import print_columns
from planopt_assets.report.terminal import CRITERIA, console, criterion_rows

if TYPE_CHECKING:
    from planopt_assets.model.layout_verdict import LayoutVerdict


def verdict_facts(verdict: LayoutVerdict) -> dict[str, Any]:
    """One object per verdict, as `planopt why TABLE --json` prints it. Unknown is null; no `subset`: all files."""
    return {
        "id": verdict.id,
        "at": verdict.stamp.recorded_at.isoformat(timespec="seconds"),
        "proposal_id": verdict.proposal_id,
        "version": verdict.version,
        "outcome": verdict.outcome,
        "reason": verdict.reason,
        "results_equal": verdict.results_equal,
        "subset": verdict.subset or None,
        "files_before": verdict.files_before,
        "files_after": verdict.files_after,
        "bytes_before": verdict.bytes_before,
        "bytes_rewritten": verdict.bytes_rewritten,
        "rewrite_cpu_s": in_seconds(verdict.rewrite_cpu_ns),
        "rewrite_wall_s": in_seconds(verdict.rewrite_wall_ns),
        "saving_cpu_s_per_day": in_seconds(verdict.saving_cpu_ns_per_day),
        "break_even_days": verdict.break_even_days,
        "charge": list(charge_words(verdict)),
        "prediction_error": verdict.prediction_error,
        "measured": [asdict(m) for m in verdict.measured],
        "criteria": [asdict(c) for c in verdict.criteria],
    }


def print_verdict(facts: Mapping[str, Any]) -> None:
    out = console()
    said = [f"\ntried    {facts['outcome']}: {facts['reason']}", *facts["charge"]]
    out.print("\n           ".join(said), markup=False, soft_wrap=True)
    rows = [
        (
            m["query_id"],
            m["outcome"],
            f"{number(m['files_before'])} -> {number(m['files_after'])}",
            number(m["predicted_files_after"]),
            f"{m['saving_cpu_ns'] / 1e9:+.2f} s",
            m["note"],
        )
        for m in facts["measured"]
    ]
    print_columns(out, ("query", "verdict", "files read", "predicted", "CPU saved a run", "note"), rows)
    if facts["prediction_error"] is not None:
        out.print(f"           error of the predicted files: {facts['prediction_error']:+.0%} (median)")
    if facts["criteria"]:
        print_columns(out, CRITERIA, criterion_rows(facts["criteria"]))
