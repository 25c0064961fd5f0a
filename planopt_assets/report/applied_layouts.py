"""Layouts that are on tables, with their charge: what each took and what it saves, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planopt_assets.maintain.quantities import in_seconds, megabytes, number, pay_back, seconds
from planopt_assets.report.maintenance_actions import action_facts
from planopt_assets.report.terminal import console

if TYPE_CHECKING:
    from planopt_assets.loop.laid_out import LaidOut

_AS_IN_WHY = ("files_before", "files_after", "bytes_before", "bytes_after", "bytes_rewritten", "took_s")


def layout_facts(layout: LaidOut) -> dict[str, Any]:
    """One object per layout, as `planopt run --json` prints it. Unknown is null; saving and break-even are measured."""
    action, verdict = layout.action, layout.verdict
    told = action_facts(action)
    return {
        "table": action.table,
        "action": action.action,
        "words": action.reason,
        "action_id": action.id,
        "verdict_id": verdict.id if verdict else None,
        "version": action.version_after,
        **{name: told[name] for name in _AS_IN_WHY},
        "rewrite_cpu_s": told["cpu_s"],
        "saving_cpu_s_per_day": in_seconds(verdict.saving_cpu_ns_per_day) if verdict else None,
        "break_even_days": verdict.break_even_days if verdict else None,
        "subset": verdict.subset or None if verdict else None,
        "reason": verdict.reason if verdict else None,
        "undo": told["undo"],
    }


def layout_line(facts: Mapping[str, Any]) -> str:
    """One line: what was done, what it took, what it saves. What is unknown is left out.

    >>> known = {"files_before": 266, "files_after": 4, "bytes_rewritten": 210_500_000, "rewrite_cpu_s": 9.8}
    >>> known |= {"table": "orders", "words": "compact orders", "saving_cpu_s_per_day": 5.2, "break_even_days": 1.9}
    >>> layout_line({**known, "verdict_id": "ver-1", "subset": None})
    'orders: compact orders: files 266 -> 4, 210.5 MB rewritten, 9.8 s CPU; saves 5.2 s CPU a day, \
break-even after 1.9 days'
    """
    parts = []
    if None not in (facts["files_before"], facts["files_after"]):
        parts.append(f"files {facts['files_before']:,} -> {facts['files_after']:,}")
    if facts["bytes_rewritten"]:
        parts.append(f"{facts['bytes_rewritten'] / 1e6:,.1f} MB rewritten")
    if facts["rewrite_cpu_s"] is not None:
        parts.append(f"{facts['rewrite_cpu_s']:.1f} s CPU")
    line = ": ".join(filter(None, [facts["table"], facts["words"], ", ".join(parts)]))
    if facts["verdict_id"] is None:
        return line
    on = f" on {facts['subset']}" if facts["subset"] else ""
    return f"{line}; saves {facts['saving_cpu_s_per_day']:.1f} s CPU a day{on}, {pay_back(facts['break_even_days'])}"


def layout_view(layout: LaidOut) -> dict[str, str]:
    """The same as texts, for a row of the report."""
    facts = layout_facts(layout)
    proven = facts["verdict_id"] is not None
    return {
        "table": facts["table"],
        "words": facts["words"],
        "version": number(facts["version"]),
        "files": f"{number(facts['files_before'])} → {number(facts['files_after'])}",
        "rewritten": megabytes(facts["bytes_rewritten"]),
        "cpu": seconds(facts["rewrite_cpu_s"]),
        "saving": seconds(facts["saving_cpu_s_per_day"]),
        "pays": pay_back(facts["break_even_days"]) if proven else "-",
        "reason": facts["reason"] or "",
        "undo": facts["undo"] or "",
    }


def print_layouts(layouts: Sequence[LaidOut]) -> None:
    """What a run has put on tables; nothing if it has not."""
    if not layouts:
        return
    out = console()
    out.print("\nLayouts applied by this run:", style="bold")
    for one in layouts:
        out.print(f"  {layout_line(layout_facts(one))}", markup=False, soft_wrap=True)
