"""A small grouping that is shuffled into 200 partitions: written into two instead, with a hundredth of the blocks.

`sales` has 20,000 rows of 997 shops. Grouped by shop it is 24 kB, and Spark's default cuts that into 200 pieces.
Adaptive execution reads them as one partition again, but each was written.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from planopt_assets.model.policy import Policy
from planopt_assets.model.workload import Query
from planopt_tests.e2e.one_rule import RUNS_PER_DAY, Tried, try_rule, write_table

pytestmark = pytest.mark.e2e

ROWS, SHOPS = 20_000, 997
PARTITIONS = "spark.sql.shuffle.partitions"
QUERIES = [
    Query("default", sql="SELECT shop, sum(amount) AS total FROM sales GROUP BY shop", runs_per_day=RUNS_PER_DAY),
    # Its author says how many partitions there are to be.
    Query("chosen", sql="SELECT /*+ REPARTITION(50, shop) */ shop, amount FROM sales", runs_per_day=RUNS_PER_DAY),
]


@pytest.fixture(scope="module")
def tried(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    folder = tmp_path_factory.mktemp("shuffles")
    ids = np.arange(ROWS)
    write_table(folder, "sales", {"shop": pa.array(ids % SHOPS), "amount": pa.array(ids * 7 % 1000)})
    return try_rule(folder, "right_size_shuffle", QUERIES, allow=(PARTITIONS,))


def test_one_partition_for_each_core_is_accepted_and_fewer_blocks_are_written(tried: Tried) -> None:
    assert tried.proposed("default") == Policy.of({PARTITIONS: "2"})
    tried.accepted("default")
    before, after = tried.counter("default", "shuffle_blocks")
    assert (set(before), set(after)) == ({200}, {2})


def test_where_the_query_itself_says_how_many_nothing_is_proposed(tried: Tried) -> None:
    assert "no shuffle takes its partition count from the setting" in tried.left_alone("chosen")
