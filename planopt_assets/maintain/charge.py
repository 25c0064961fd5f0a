"""The charge of a layout in words: what the rewrite took on the clone, and what it saves."""

from __future__ import annotations

from planopt_assets.maintain.quantities import in_seconds, megabytes, number, pay_back, seconds
from planopt_assets.model.layout_verdict import LayoutVerdict

_EQUAL = {True: "results are equal", False: "results differ", None: "results were not compared"}


def charge_words(verdict: LayoutVerdict) -> tuple[str, str]:
    """Rewrite and saving; whether results are equal, and on which files. Unknown is `-`.

    >>> done = {"rewrite_cpu_ns": 12_300_000_000, "rewrite_wall_ns": 8_100_000_000, "bytes_rewritten": 48_000_000}
    >>> done |= {"files_before": 64, "files_after": 8, "saving_cpu_ns_per_day": 5_200_000_000, "break_even_days": 2.4}
    >>> print(*charge_words(LayoutVerdict("ver-1", "lay_1", "t", "x", 7, "accept", "", True, **done)), sep="\\n")
    rewrite: 12.3 s CPU and 8.1 s for 48.0 MB, files 64 -> 8; it saves 5.2 s CPU a day, break-even after 2.4 days
    results are equal
    """
    cpu, wall = (seconds(in_seconds(ns)) for ns in (verdict.rewrite_cpu_ns, verdict.rewrite_wall_ns))
    files = f"files {number(verdict.files_before)} -> {number(verdict.files_after)}"
    took = f"rewrite: {cpu} CPU and {wall} for {megabytes(verdict.bytes_rewritten)}, {files}"
    saved = f"it saves {seconds(in_seconds(verdict.saving_cpu_ns_per_day))} CPU a day"
    on = f", on {verdict.subset}: the charge is of these files" if verdict.subset else ""
    return f"{took}; {saved}, {pay_back(verdict.break_even_days)}", f"{_EQUAL[verdict.results_equal]}{on}"
