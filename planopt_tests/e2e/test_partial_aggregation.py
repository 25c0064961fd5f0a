"""Groupings with more groups than their first map holds: kept in one map, and without sorting.

`sales` has 1,500,000 rows of 250,000 members and 1,000 shops. A task meets 238,000 members and its fast map holds
65,536: the others go on to a slower one. Sets of objects are kept for 128 shops, then the rows are sorted instead.
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

ROWS, MEMBERS, SHOPS = 1_500_000, 250_000, 1_000
BITS = "spark.sql.codegen.aggregate.fastHashMap.capacityBit"
GROUPS = "spark.sql.objectHashAggregate.sortBased.fallbackThreshold"
QUERIES = [
    Query("members", sql="SELECT member, sum(amount) AS total FROM sales GROUP BY member", runs_per_day=RUNS_PER_DAY),
    Query(
        "objects",
        sql="SELECT shop, size(collect_set(amount)) AS amounts FROM sales GROUP BY shop",
        runs_per_day=RUNS_PER_DAY,
    ),
    Query("shops", sql="SELECT shop, sum(amount) AS total FROM sales GROUP BY shop", runs_per_day=RUNS_PER_DAY),
]


@pytest.fixture(scope="module")
def tried(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    folder, draw = tmp_path_factory.mktemp("groups"), np.random.default_rng(7)
    sales = {
        "member": pa.array(draw.integers(0, MEMBERS, ROWS)),
        "shop": pa.array(draw.integers(0, SHOPS, ROWS)),
        "amount": pa.array(draw.integers(0, 5, ROWS)),
    }
    write_table(folder, "sales", sales, files=2)
    return try_rule(folder, "partial_aggregation", QUERIES, allow=(BITS, GROUPS))


def test_a_map_for_all_groups_is_accepted_and_few_groups_go_past_it(tried: Tried) -> None:
    assert tried.proposed("members") == Policy.of({BITS: "18"})
    tried.accepted("members")
    # Of the slower map only. It keeps a page of memory for the few groups that collide in the fast one.
    before, after = tried.counter("members", "map_memory_bytes")
    assert max(after) < 0.95 * min(before)


def test_objects_of_more_groups_are_kept_and_no_task_sorts(tried: Tried) -> None:
    assert tried.proposed("objects") == Policy.of({GROUPS: "1024"})
    tried.accepted("objects")
    before, after = tried.counter("objects", "sort_fallback_tasks")
    assert min(before) >= 2
    assert max(after) == 0


def test_groups_that_fit_already_are_left_alone(tried: Tried) -> None:
    assert "a task has 1,000 groups: no larger map" in tried.left_alone("shops")
