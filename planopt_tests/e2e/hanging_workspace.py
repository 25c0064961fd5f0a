"""A process of its own that gives a workspace one query after the other, and prints what became of each as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from planopt_assets.engine.execution import bounded, leftover_tasks
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import PlanoptError
from planopt_assets.model.workload import Query
from planopt_tests.conftest import SETTINGS, workload_of
from planopt_tests.e2e.ending_queries import ENDLESS, ENDLESS_CONSTANT, HUNGRY_CONSTANT, MEMORY

BY_SHOP = Query("by_shop", sql="SELECT shop, count(*) AS n FROM sales GROUP BY shop")
ENDLESS_TASK = Query("endless", sql=ENDLESS)
ENDLESS_PLANNING = Query("endless_constant", sql=ENDLESS_CONSTANT)
HUNGRY_PLANNING = Query("hungry_constant", sql=HUNGRY_CONSTANT)
ORDER = (BY_SHOP, ENDLESS_TASK, BY_SHOP, ENDLESS_PLANNING, HUNGRY_PLANNING, BY_SHOP)
STUCK = 3  # looks in a row, a fifth of a second apart
_waited = bounded._waited


def until_it_is_stuck(worker: Any, seconds: float, outdone: Callable[[], str] | None) -> str:
    """As if the time of an endless query were up as soon as it is where nothing stops it, however busy the machine."""
    if "endless" not in worker.name:
        return _waited(worker, seconds, outdone)
    looks = 0
    while looks < STUCK and not worker.ended.wait(0.2):
        looks = looks + 1 if _is_matching(worker._context) else 0
    return ""


def _is_matching(context: Any) -> bool:
    """Whether any thread, of a task or of planning, is inside a regular expression."""
    java = context._jvm.java
    threads = java.lang.management.ManagementFactory.getThreadMXBean().dumpAllThreads(False, False)
    return any("java.util.regex" in thread.toString() for thread in threads)


def main(folder: Path) -> None:
    leftover_tasks.PATIENCE_S = 1.0  # for what never ends
    bounded._waited = until_it_is_stuck
    settings = {**SETTINGS, "spark.driver.memory": MEMORY}
    queries = list(dict.fromkeys(ORDER))
    workspace = Workspace(workload_of(folder, queries, spark_settings=tuple(sorted(settings.items()))))
    told = []
    for query in ORDER:
        try:
            done = workspace.execute(query, 0, workspace.baseline, timeout_s=600.0)
            how = f"{done.digest.rows if done.digest else 0} rows"
        except PlanoptError as error:
            how = f"{error.code} {error.what}"
        told.append([query.id, how, workspace.sessions_lost])
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
