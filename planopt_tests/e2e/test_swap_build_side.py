"""A broadcast of the wrong input: the planner's sizes are those of the files, and do not know what a filter leaves.

`members` has 100,000 rows and smaller files, `orders` 200,000. So the planner broadcasts `members`, also where a filter
leaves 200 of the orders. Those are broadcast instead.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from planopt_assets.model.policy import Policy
from planopt_assets.model.workload import Query
from planopt_tests.e2e.one_rule import RUNS_PER_DAY, Tried, operators, try_rule, write_table

pytestmark = pytest.mark.e2e

MEMBERS, ORDERS, KINDS = 100_000, 200_000, 1_000
JOINED = "SELECT m.name, o.amount FROM members m JOIN orders o ON m.id = o.id"
QUERIES = [
    Query("filtered", sql=f"{JOINED} WHERE o.kind = 7", runs_per_day=RUNS_PER_DAY),
    Query("whole", sql=JOINED, runs_per_day=RUNS_PER_DAY),
]


@pytest.fixture(scope="module")
def tried(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    folder, draw, ids = tmp_path_factory.mktemp("sides"), np.random.default_rng(7), np.arange(ORDERS)
    orders = {"id": ids, "kind": ids * 7919 % KINDS, "amount": draw.integers(0, 2**62, ORDERS)}
    members = {"id": np.arange(MEMBERS), "name": draw.integers(0, 2**62, MEMBERS)}
    write_table(folder, "orders", {name: pa.array(values) for name, values in orders.items()})
    write_table(folder, "members", {name: pa.array(values) for name, values in members.items()})
    return try_rule(folder, "swap_build_side", QUERIES, allow=("spark.sql.autoBroadcastJoinThreshold",))


def test_the_input_that_is_small_after_its_filter_is_built_instead(tried: Tried) -> None:
    assert tried.proposed("filtered") == Policy.of(hints=["broadcast(join0.right o)"])
    tried.accepted("filtered")
    before, after = tried.again("filtered")
    # Rows, not bytes: Spark counts a broadcast table in pages of 32 MiB and more, whatever is in them.
    assert [b.metric("number of output rows") for b in operators(before, "BroadcastExchange")] == [MEMBERS]
    assert [b.metric("number of output rows") for b in operators(after, "BroadcastExchange")] == [ORDERS // KINDS]


def test_where_the_smaller_input_is_built_already_nothing_is_proposed(tried: Tried) -> None:
    assert "builds an input 4 times as large as the other" in tried.left_alone("whole")
