"""Changes that planopt made to a table, for people and for programs: both from the same facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from planopt_assets.maintain.quantities import in_seconds

if TYPE_CHECKING:
    from planopt_assets.model.maintenance_action import MaintenanceAction


def action_facts(action: MaintenanceAction) -> dict[str, Any]:
    """One object per action, as `planopt why TABLE --json` prints it. Unknown is null; `who` is null for automation."""
    return {
        "id": action.id,
        "at": action.stamp.recorded_at.isoformat(timespec="seconds"),
        "action": action.action,
        "status": action.status,
        "reason": action.reason,
        "error_code": action.error_code,
        "who": action.who,
        "proposal_id": action.proposal_id or None,
        "verdict_id": action.verdict_id or None,
        "version_before": action.version_before,
        "version_after": action.version_after,
        "files_before": action.files_before,
        "files_after": action.files_after,
        "bytes_before": action.bytes_before,
        "bytes_after": action.bytes_after,
        "bytes_rewritten": action.bytes_rewritten,
        "took_s": in_seconds(action.took_ns),
        "cpu_s": in_seconds(action.cpu_ns),
        "attempts": action.attempts,
        "undo": action.undo or None,
        "undo_until": action.undo_until.isoformat(timespec="seconds") if action.undo_until else None,
        "undoes": action.undoes or None,
    }


def action_lines(facts: Mapping[str, Any]) -> list[str]:
    """What was done; by whom and when; what it changed and took; how to take it back. What is unknown is left out."""
    parts = [
        _change("version", facts["version_before"], facts["version_after"]),
        _change("files", facts["files_before"], facts["files_after"]),
        "" if facts["bytes_rewritten"] is None else f"{facts['bytes_rewritten'] / 1e6:,.1f} MB rewritten",
        "" if facts["took_s"] is None else f"{facts['took_s']:.1f} s",
        "" if facts["cpu_s"] is None else f"{facts['cpu_s']:.1f} s CPU",
        f"{facts['attempts']} attempts" if facts["attempts"] > 1 else "",
        f"takes back {facts['undoes']}" if facts["undoes"] else "",
    ]
    told = ", ".join(part for part in parts if part)
    lines = [f"{facts['status']}  {facts['action']}: {facts['reason']}"]
    lines.append(f"by {facts['who'] or 'automation'} at {facts['at']}{f': {told}' if told else ''}")
    if facts["undo"]:
        until = f" (files are kept until {facts['undo_until']})" if facts["undo_until"] else ""
        lines.append(f"undo: {facts['undo']}{until}")
    return lines


def _change(name: str, before: int | None, after: int | None) -> str:
    """
    >>> _change("files", 1200, 4), _change("files", None, None), _change("version", 7, 7)
    ('files 1,200 -> 4', '', 'version 7')
    """
    if before is None or after is None:
        return ""
    return f"{name} {before:,} -> {after:,}" if before != after else f"{name} {before:,}"
