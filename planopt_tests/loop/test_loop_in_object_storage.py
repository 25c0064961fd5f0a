"""The whole loop with its store in object storage, over local tables: Spark needs no access to the store."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from planopt_assets import tuned
from planopt_assets.loop.run import read_standings
from planopt_assets.model.workload import Query
from planopt_assets.store.compaction import compact_store
from planopt_assets.store.pruning_history import learned_thresholds
from planopt_tests.conftest import workload_of
from planopt_tests.one_pass import run_all
from planopt_tests.s3_server import S3
from planopt_tests.stored_rows import StoredRows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

# Floating point is compared row by row, in files that Spark writes.
SQL = "SELECT shop, count(*) AS n, sum(amount) AS total FROM sales WHERE id < 1000 GROUP BY shop"


def test_a_query_is_tuned_and_its_policy_runs_in_a_users_job(
    spark: SparkSession, unchanging_tables: Path, s3: S3
) -> None:
    by_shop = Query("by_shop", sql=SQL, runs_per_day=1000.0)
    workload = workload_of(unchanging_tables, [by_shop], store=f"{s3.bucket()}/store", mode="auto")
    run_all(workload).workspace.close()
    assert list(Path(tempfile.gettempdir()).glob("planopt-scratch-by_shop-*")) == []

    found = read_standings(workload)["by_shop"]
    assert found.active is not None
    assert (found.active.generation, found.settled) == (1, True)

    with tuned(spark.newSession(), "by_shop", workload, timeout_s=60) as query:
        assert query.policy == found.active.policy
        assert len(query.sql().collect()) == 17
    reader = StoredRows(workload.store, workload.name)
    assert [r["policy_id"] for r in reader.rows("runtime_counters", purpose="production")] == [found.active.policy.id]

    before = {table: reader.table(table).num_rows for table in ("trials", "lineage", "runtime_counters")}
    assert compact_store(workload.store, most=0)
    assert {table: reader.table(table).num_rows for table in before} == before
    assert read_standings(workload)["by_shop"].active == found.active

    learned = learned_thresholds(spark, workload.store, at_least=1)
    assert all(0 <= share <= 1 for share in learned.values())
