"""What may have disturbed an execution from outside: failed tasks, lost executors, commits to the tables it reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from planopt_assets.engine.delta.delta_log import newest_version
from planopt_assets.errors import TableUnreadable

if TYPE_CHECKING:
    from planopt_assets.model.inputs import PinnedTable


def disturbance(failed_tasks: int, executors: str = "", held_up: str = "") -> str:
    """In words what disturbed one execution; empty where nothing did.

    >>> disturbance(2, "an executor was lost")
    'an executor was lost and 2 tasks failed'
    """
    failed = f"{failed_tasks} task{'s' if failed_tasks > 1 else ''} failed" if failed_tasks else ""
    return " and ".join(words for words in (executors, held_up, failed) if words)


def newest_versions(tables: Iterable[PinnedTable]) -> dict[str, int | None]:
    """The version every table has now, whatever was pinned; None where its log cannot be read at the moment."""
    return {t.name: _newest(t.location) for t in tables}


def _newest(location: str) -> int | None:
    try:
        return newest_version(location)
    except TableUnreadable:
        return None
