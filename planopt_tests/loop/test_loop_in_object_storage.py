"""The whole loop with its store in object storage, over local tables: Spark needs no access to the store."""

from __future__ import annotations

import logging
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from planopt_assets import tuned
from planopt_assets.loop.run import read_standings
from planopt_assets.model.workload import Query
from planopt_assets.store.compaction import compact_store
from planopt_assets.store.pruning_history import learned_thresholds
from planopt_assets.store.store import Store
from planopt_tests.conftest import workload_of
from planopt_tests.left_behind import left_behind_ends
from planopt_tests.no_spark import no_spark
from planopt_tests.one_pass import run_all
from planopt_tests.promoted import chain
from planopt_tests.rows import FEWER
from planopt_tests.s3_server import KEY, S3, SECRET, Fault
from planopt_tests.stored_objects import objects_with
from planopt_tests.stored_rows import StoredRows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

# Floating point is compared row by row, in files that Spark writes.
SQL = "SELECT shop, count(*) AS n, sum(amount) AS total FROM sales WHERE id < 1000 GROUP BY shop"


def test_a_query_is_tuned_and_its_policy_runs_in_a_users_job(
    spark: SparkSession, unchanging_tables: Path, s3: S3, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "py4j")  # else a line for each of a hundred thousand calls to the JVM
    caplog.set_level(logging.DEBUG)
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

    assert objects_with(s3, workload.store, "HashAggregate")  # what is in a packed plan is found
    assert objects_with(s3, workload.store, KEY, SECRET) == []
    said = [f"{record.getMessage()} {record.exc_text or ''}" for record in caplog.records]
    assert any("runs recorded" in line for line in said)  # what is told at DEBUG is looked at
    assert not [line for line in said if KEY in line or SECRET in line]


def test_a_users_job_has_its_rows_though_storage_goes_silent_while_it_runs(
    spark: SparkSession, unchanging_tables: Path, s3: S3, caplog: pytest.LogCaptureFixture
) -> None:
    by_shop = Query("by_shop", sql=SQL)
    workload = workload_of(unchanging_tables, [by_shop], store=f"{s3.bucket()}/store")
    (promotion,) = chain("by_shop", FEWER)
    Store(workload.store, workload.name, no_spark).commit(promotion, "r1")
    with ExitStack() as trouble, tuned(spark.newSession(), "by_shop", workload, timeout_s=10) as query:
        assert query.policy == FEWER
        trouble.enter_context(s3.faulty(Fault(delay_s=600)))
        assert len(query.sql().collect()) == 17
    warned = [r.getMessage() for r in caplog.records if r.name == "planopt" and r.levelno == logging.WARNING]
    assert warned == ["by_shop: the run may not be recorded: Spark or the store is slow"]
    left_behind_ends()
