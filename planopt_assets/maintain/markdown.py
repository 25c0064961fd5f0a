"""A table's readiness and proposals as Markdown, and as the numbers that are plotted over time."""

from __future__ import annotations

from collections.abc import Sequence

from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.model.table_readiness import TableReadiness


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


def _size(readiness: TableReadiness) -> str:
    if readiness.files is None or readiness.bytes is None:
        return "unknown"
    return f"{readiness.files:,} files, {readiness.bytes / 1e6:,.1f} MB, {readiness.debt or 0:,} files too many"


def _code(command: str) -> str:
    return f"`{command}`" if command and "`" not in command else command
