"""One key with most of a join's rows, below the size from which Spark splits a partition: shared by two tasks.

Nine of ten `events` belong to user 0: 38 MB of 41 in one partition, and Spark splits none below 256 MB. One task joins
them while the other core waits. That costs time and no CPU, and is of interest only where the objective is `latency`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from planopt_assets.model.workload import Query
from planopt_tests.e2e.one_rule import RUNS_PER_DAY, Tried, largest_task, random_bytes, try_rule, write_table

pytestmark = pytest.mark.e2e

EVENTS, USERS, WIDTH = 200_000, 60_000, 200
SESSION = {"spark.sql.autoBroadcastJoinThreshold": "-1"}  # or the users are broadcast, and nothing is left to split
ADVISORY = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
THRESHOLD = "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes"


def joined(table: str) -> Query:
    sql = f"SELECT e.user, e.payload, u.payload AS profile FROM {table} e JOIN users u ON e.user = u.user"
    return Query(table, sql=sql, runs_per_day=RUNS_PER_DAY)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, draw, ids = tmp_path_factory.mktemp("skew"), np.random.default_rng(7), np.arange(EVENTS)
    skewed = np.where(ids % 10 == 0, ids // 10, 0)
    # Two files, so that two tasks write the shuffle: a partition is cut between what they wrote.
    write_table(folder, "skewed", {"user": pa.array(skewed), "payload": random_bytes(draw, EVENTS, WIDTH)}, files=2)
    write_table(folder, "even", {"user": pa.array(ids // 4), "payload": random_bytes(draw, EVENTS, 80)}, files=2)
    write_table(folder, "users", {"user": pa.array(np.arange(USERS)), "payload": random_bytes(draw, USERS, WIDTH)})
    return folder


@pytest.fixture(scope="module")
def tried(spark: SparkSession, folder: Path) -> Tried:
    queries = [joined("skewed"), joined("even")]
    return try_rule(folder, "split_skew", queries, allow=(ADVISORY, THRESHOLD), objective="latency", settings=SESSION)


@pytest.fixture(scope="module")
def tried_for_cpu(spark: SparkSession, folder: Path) -> Tried:
    allow, store = (ADVISORY, THRESHOLD), str(folder / "cpu")
    return try_rule(folder, "split_skew", [joined("skewed")], allow=allow, settings=SESSION, store=store)


def test_the_large_partition_is_shared_where_the_clock_counts_and_no_task_reads_it_all(tried: Tried) -> None:
    assert set(dict(tried.proposed("skewed").settings)) == {ADVISORY, THRESHOLD}
    tried.accepted("skewed")
    before, after = (largest_task(run, "shuffle_read_bytes") for run in tried.again("skewed"))
    assert before > 0.9 * EVENTS * 0.9 * WIDTH
    assert after < 0.6 * before


def test_even_partitions_are_left_alone(tried: Tried) -> None:
    assert "nothing to split" in tried.left_alone("even")


def test_waiting_cores_cost_no_cpu_and_are_left_alone_where_only_cpu_counts(tried_for_cpu: Tried) -> None:
    assert "saves the clock and not CPU; objective `latency` would try it" in tried_for_cpu.left_alone("skewed")
