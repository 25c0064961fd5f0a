"""A process of its own that gives a workspace one query after the other, and prints what became of each as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from planopt_assets.engine.execution import leftover_tasks
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import PlanoptError
from planopt_assets.model.workload import Query
from planopt_tests.conftest import SETTINGS, workload_of
from planopt_tests.e2e.ending_queries import ENDLESS, ENDLESS_CONSTANT, HUNGRY_CONSTANT, MEMORY

BY_SHOP = Query("by_shop", sql="SELECT shop, count(*) AS n FROM sales GROUP BY shop")
QUERIES = (
    (BY_SHOP, 600.0),
    (Query("endless", sql=ENDLESS), 12.0),
    (BY_SHOP, 600.0),
    (Query("endless_constant", sql=ENDLESS_CONSTANT), 12.0),
    (Query("hungry_constant", sql=HUNGRY_CONSTANT), 600.0),
    (BY_SHOP, 600.0),
)


def main(folder: Path) -> None:
    leftover_tasks.PATIENCE_S = 5.0
    settings = {**SETTINGS, "spark.driver.memory": MEMORY}
    workload = workload_of(folder, [q for q, _ in QUERIES[:5]], spark_settings=tuple(sorted(settings.items())))
    workspace = Workspace(workload)
    told = []
    for query, seconds in QUERIES:
        try:
            done = workspace.execute(query, 0, workspace.baseline, timeout_s=seconds)
            how = f"{done.digest.rows if done.digest else 0} rows"
        except PlanoptError as error:
            how = f"{error.code} {error.what}"
        told.append([query.id, how, workspace.sessions_lost])
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
