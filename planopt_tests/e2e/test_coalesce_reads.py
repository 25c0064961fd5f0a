"""A shuffle read in one partition for each of many cores, each with little to do: read in a few.

`sales` grouped by its key is 11 MB. Adaptive execution would rather give every core a partition: eight of 1.4 MB on
eight cores. The machine need not have them, Spark only has to count them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from planopt_assets.model.policy import Policy
from planopt_assets.model.workload import Query
from planopt_tests.e2e.one_rule import RUNS_PER_DAY, Tried, random_bytes, try_rule, write_table

pytestmark = pytest.mark.e2e

ROWS, WIDTH, CORES = 100_000, 100, "8"
MIN_SIZE = "spark.sql.adaptive.coalescePartitions.minPartitionSize"
QUERIES = [
    Query("tiny", sql="SELECT id, max(payload) AS top FROM sales GROUP BY id", runs_per_day=RUNS_PER_DAY),
    # 10 kB are read in one partition, however many cores there are.
    Query("one", sql="SELECT shop, max(payload) AS top FROM sales GROUP BY shop", runs_per_day=RUNS_PER_DAY),
]


@pytest.fixture(scope="module")
def many_cores(spark: SparkSession) -> Iterator[None]:
    """Spark reads how many tasks it takes for parallel from its configuration each time it is asked."""
    conf = spark.sparkContext._jsc.sc().conf()  # type: ignore[union-attr]
    conf.set("spark.default.parallelism", CORES)
    yield
    conf.remove("spark.default.parallelism")


@pytest.fixture(scope="module")
def tried(spark: SparkSession, many_cores: None, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    folder, draw, ids = tmp_path_factory.mktemp("reads"), np.random.default_rng(7), np.arange(ROWS)
    sales = {"id": pa.array(ids), "shop": pa.array(ids % 100), "payload": random_bytes(draw, ROWS, WIDTH)}
    write_table(folder, "sales", sales)
    return try_rule(folder, "coalesce_reads", QUERIES, allow=(MIN_SIZE,))


def test_small_partitions_are_read_together_in_fewer_tasks(tried: Tried) -> None:
    assert tried.proposed("tiny") == Policy.of({MIN_SIZE: str(4 * 2**20)})
    tried.accepted("tiny")
    before, after = tried.counter("tiny", "tasks")
    assert max(after) <= min(before) - 5


def test_a_shuffle_that_is_read_in_one_partition_is_left_alone(tried: Tried) -> None:
    assert "no shuffle is read in 8 or more partitions of less than 2,097,152 bytes" in tried.left_alone("one")
