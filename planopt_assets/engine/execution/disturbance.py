"""What may have disturbed an execution from outside: failed tasks, stages that ran again, lost executors, commits to
the tables it reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.delta.delta_log import newest_version
from planopt_assets.errors import TableUnreadable

if TYPE_CHECKING:
    from planopt_assets.model.inputs import PinnedTable


def disturbance(failed_tasks: int, executors: str = "", held_up: str = "", again: int = 0) -> str:
    """In words what disturbed one execution; empty where nothing did. `again` is how many stages ran more than once.

    >>> disturbance(2, "an executor was lost")
    'an executor was lost and 2 tasks failed'
    """
    failed = f"{failed_tasks} task{'s' if failed_tasks > 1 else ''} failed" if failed_tasks else ""
    repeated = f"{again} stage{'s' if again > 1 else ''} ran again" if again else ""
    return " and ".join(words for words in (executors, held_up, failed, repeated) if words)


def ran_again(stages: Iterable[Mapping[str, Any]]) -> int:
    """Stages that ran more than once. Counters are those of the last time, so tasks that failed before are not in them.

    >>> ran_again([{"stageId": 4, "attemptId": 0}, {"stageId": 5, "attemptId": 1}])
    1
    """
    return sum(int(stage["attemptId"]) > 0 for stage in stages)


def newest_versions(tables: Iterable[PinnedTable]) -> dict[str, int | None]:
    """The version every table has now, whatever was pinned; None where its log cannot be read at the moment."""
    return {t.name: _newest(t.location) for t in tables}


def _newest(location: str) -> int | None:
    try:
        return newest_version(location)
    except TableUnreadable:
        return None
