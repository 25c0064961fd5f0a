"""A limit of CPU ends a real execution, and the session goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import QueryOutdone
from planopt_assets.model.workload import Query
from planopt_tests.conftest import workload_of

pytestmark = pytest.mark.spark

# A task looks for its cancel whenever it takes a row from a shuffle. Straight from a scan it would first finish a whole
# batch, here a billion rows, and hold its core for minutes.
LONG = Query(
    "long",
    sql="SELECT sum(a.id * b.id % 7) AS n FROM (SELECT /*+ REPARTITION(2) */ id FROM sales) a"
    " CROSS JOIN sales b CROSS JOIN sales c",
)
SHORT = Query("short", sql="SELECT count(DISTINCT shop) AS n FROM sales")


def test_an_execution_that_passes_its_limit_is_stopped(spark: SparkSession, unchanging_tables: Path) -> None:
    workspace = Workspace(workload_of(unchanging_tables, [LONG, SHORT]))
    with pytest.raises(QueryOutdone, match=r"PLN-223 .*took more CPU than the baseline: stopped at"):
        workspace.execute(LONG, 0, workspace.baseline, timeout_s=120, cpu_limit_s=0.5)
    assert workspace.sessions_lost == 0
    done = workspace.execute(SHORT, 0, workspace.baseline, timeout_s=60, cpu_limit_s=1e6)
    assert done.counters.result_rows == 1
