"""A table's readiness, proposals and verdicts as Markdown, and as the numbers that are plotted over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planopt_assets.maintain.charge import charge_words
from planopt_assets.maintain.quantities import megabytes, number
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.model.layout_verdict import LayoutVerdict, MeasuredRead
from planopt_assets.model.table_readiness import TableReadiness

Cpu = Mapping[str, tuple[float, float]]
"""By query: what a run took on the table as it is, and on the new layout, in nanoseconds."""


def numbers(readiness: TableReadiness, proposals: Sequence[LayoutProposal]) -> dict[str, int | float]:
    """What is known of files, debt, log and growth; unknown numbers are left out, so that no plot shows zero.

    Layouts of one table are alternatives: the best of them is what can be saved.
    """
    known: dict[str, int | float | None] = {
        "files": readiness.files,
        "bytes": readiness.bytes,
        "debt_files": readiness.debt,
        "small_files": readiness.small_files,
        "deleted_rows": readiness.deleted_rows,
        "commits_since_checkpoint": readiness.commits_since_checkpoint,
        "log_bytes": readiness.log_bytes,
        "files_per_day": readiness.files_per_day,
        "findings": len(readiness.findings),
        "proposals": len(proposals),
        "expected_saving_cpu_s_per_day": max((p.saving_cpu_ns_per_day for p in proposals), default=0.0) / 1e9,
    }
    return {name: value for name, value in known.items() if value is not None}


def markdown(readiness: TableReadiness, proposals: Sequence[LayoutProposal]) -> str:
    """Findings, columns and proposals as tables."""
    parts = [f"**{readiness.ref}**: {_size(readiness)}; integrity {readiness.integrity}"]
    if readiness.findings:
        rows = [f"| {f.severity} | {f.cause} | {f.consequence} | {_code(f.command)} |" for f in readiness.findings]
        parts.append("\n".join(["| severity | finding | consequence | command |", "|---|---|---|---|", *rows]))
    if readiness.columns:
        rows = [
            f"| {c.column} | {c.files_with_range} | {'unknown' if c.depth is None else f'{c.depth:.1f}'} | "
            f"{', '.join(c.used_by)} |"
            for c in readiness.columns
        ]
        parts.append(
            "\n".join(["| column | files with a range | files of one value | used by |", "|---|---|---|---|", *rows])
        )
    parts += [proposal_markdown(p) for p in proposals]
    return "\n\n".join(parts)


def proposal_markdown(proposal: LayoutProposal) -> str:
    """One proposal: why, what it costs, and what each query reads before and after."""
    even = "" if proposal.break_even_days is None else f" Break-even after {proposal.break_even_days:.1f} days."
    writers = f" Writers: {proposal.writers}." if proposal.writers else ""
    out = f" Locks out: {proposal.locks_out}." if proposal.locks_out else ""
    lines = [f"**{proposal.describe()}** (`{proposal.id}`): {proposal.reason}.{even}{writers}{out}"]
    if proposal.expected:
        lines += ["", "| query | runs a day | files now | files then | MB now | MB then | CPU saved a run |"]
        lines += ["|---|---|---|---|---|---|---|"]
    lines += [
        f"| {e.query_id} | {e.runs_per_day:g} | {e.files_before:,} | {e.files_after:,} | {e.bytes_before / 1e6:,.1f} | "
        f"{e.bytes_after / 1e6:,.1f} | {e.saving_cpu_ns / 1e9:.2f} s |"
        for e in proposal.expected
    ]
    return "\n".join(lines)


def verdict_numbers(verdict: LayoutVerdict) -> dict[str, int | float]:
    """The charge and the error of the prediction; what is unknown is left out."""
    known: dict[str, int | float | None] = {
        "saving_cpu_s_per_day": verdict.saving_cpu_ns_per_day / 1e9,
        "rewrite_cpu_s": verdict.rewrite_cpu_ns / 1e9,
        "bytes_rewritten": verdict.bytes_rewritten,
        "break_even_days": verdict.break_even_days,
        "prediction_error": verdict.prediction_error,
    }
    return {name: value for name, value in known.items() if value is not None}


def verdict_markdown(verdict: LayoutVerdict, cpu: Cpu) -> str:
    """One verdict: why, its charge, and what each query read and took, beside what was predicted."""
    lines = [f"**{verdict.outcome}** (`{verdict.id}`): {verdict.reason}", ""]
    lines += [f"- {words}" for words in charge_words(verdict)]
    if verdict.prediction_error is not None:
        lines.append(f"- error of the predicted files: {verdict.prediction_error:+.0%} (median)")
    if verdict.measured:
        lines += ["", "| query | verdict | runs a day | files before | predicted | measured | MB before | predicted |"]
        lines[-1] += " measured | CPU before | CPU after | note |"
        lines += ["|" + "---|" * 12]
    return "\n".join([*lines, *(_measured_row(m, cpu.get(m.query_id)) for m in verdict.measured)])


def _measured_row(read: MeasuredRead, cpu: tuple[float, float] | None) -> str:
    files = (read.files_before, read.predicted_files_after, read.files_after)
    sizes = (read.bytes_before, read.predicted_bytes_after, read.bytes_after)
    took = ("-", "-") if cpu is None else (f"{ns / 1e9:.2f} s" for ns in cpu)
    named = (read.query_id, read.outcome, f"{read.runs_per_day:g}")
    return f"| {' | '.join([*named, *map(number, files), *map(megabytes, sizes), *took, read.note])} |"


def _size(readiness: TableReadiness) -> str:
    if readiness.files is None or readiness.bytes is None:
        return "unknown"
    return f"{readiness.files:,} files, {readiness.bytes / 1e6:,.1f} MB, {readiness.debt or 0:,} files too many"


def _code(command: str) -> str:
    return f"`{command}`" if command and "`" not in command else command
