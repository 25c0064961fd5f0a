"""A change that planopt made to a user's table, or tried to make, and how to take it back."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from planopt_assets.model.layout_proposal import LayoutAction
from planopt_assets.model.stamp import NOT_STORED, Stamp

ActionStatus = Literal["applied", "undone", "failed", "refused"]
MaintenanceKind = LayoutAction | Literal["restore", "vacuum"]


@dataclass(frozen=True, slots=True)
class MaintenanceAction:
    """One row per attempt, also of one that was refused or failed."""

    id: str
    table: str
    table_id: str
    action: str  # one of `MaintenanceKind`
    status: ActionStatus
    reason: str
    proposal_id: str = ""
    verdict_id: str = ""
    version_before: int | None = None
    version_after: int | None = None
    files_before: int | None = None
    files_after: int | None = None
    bytes_before: int | None = None
    bytes_after: int | None = None
    bytes_rewritten: int | None = None
    took_ns: int | None = None
    cpu_ns: int | None = None
    attempts: int = 1
    undo: str = ""  # the command that takes it back; empty: it cannot be taken back
    undo_until: datetime | None = None  # later the files may be gone
    undoes: str = ""  # the id of the action that this one took back
    who: str | None = None  # the person who asked for it; None: automation
    error_code: str | None = None
    stamp: Stamp = field(default=NOT_STORED, compare=False)

    @property
    def applied(self) -> bool:
        return self.status == "applied"
