"""What may have disturbed an execution from outside: failed tasks, lost executors, commits to the tables it reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.delta.delta_log import newest_version
from planopt_assets.errors import TableUnreadable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from planopt_assets.engine.jvm.bridge import Jvm
    from planopt_assets.model.inputs import PinnedTable

_GIVEN_BACK = ("idle", "decommission")  # dynamic allocation took them away on purpose


class ExecutorLosses:
    """Counts the executors this application has lost; one process that is driver and executor can lose none."""

    def __init__(self, spark: SparkSession, jvm: Jvm) -> None:
        self._context: Any = spark.sparkContext._jsc.sc()
        self._jvm = jvm
        master = str(spark.sparkContext.master)
        self._alone = master.startswith("local") and not master.startswith("local-cluster")

    def count(self) -> int:
        if self._alone:
            return 0
        return lost(self._jvm.to_python(self._context.statusStore().executorList(False)))


def lost(executors: Iterable[Mapping[str, Any]]) -> int:
    """How many of the executors Spark has ever had are gone against its will.

    >>> lost([{"isActive": True}, {"isActive": False, "removeReason": "worker lost"}])
    1
    >>> lost([{"isActive": False, "removeReason": "Executor killed: idle for 60 s"}])
    0
    """
    gone = [str(e.get("removeReason") or "").lower() for e in executors if not e["isActive"]]
    return sum(not any(word in reason for word in _GIVEN_BACK) for reason in gone)


def disturbance(failed_tasks: int, executors_lost: int) -> str:
    """In words what disturbed one execution; empty where nothing did.

    >>> disturbance(2, 1)
    'an executor was lost and 2 tasks failed'
    """
    parts = ["an executor was lost"] if executors_lost > 0 else []
    parts += [f"{failed_tasks} task{'s' if failed_tasks > 1 else ''} failed"] if failed_tasks else []
    return " and ".join(parts)


def newest_versions(tables: Iterable[PinnedTable]) -> dict[str, int | None]:
    """The version every table has now, whatever was pinned; None where its log cannot be read at the moment."""
    return {t.name: _newest(t.location) for t in tables}


def _newest(location: str) -> int | None:
    try:
        return newest_version(location)
    except TableUnreadable:
        return None
