"""A semi-join that Spark moved below a join, where it has all rows to look at and keeps nearly all of them.

`sales` has 100,000 rows, and 99,000 of their ids are in `known`. The join with the shops of one city keeps 2,000 of
them: above it, the semi-join would have had those only to shuffle and sort. Exploration: only because the workload
names the setting.
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

EXCLUDED = "spark.sql.optimizer.excludedRules"
MOVED_IT = "org.apache.spark.sql.catalyst.optimizer.PushLeftSemiLeftAntiThroughJoin"
ROWS, SHOPS, CITIES = 100_000, 1_000, 50
SESSION = {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.shuffle.partitions": "4"}


def sold_in_one_city(ids: str) -> str:
    joined = f"sales s JOIN shops c ON s.shop = c.shop LEFT SEMI JOIN {ids} k ON s.id = k.id"
    return f"SELECT s.amount, c.city FROM {joined} WHERE c.city = 7"


QUERIES = [
    Query("nearly_all", sql=sold_in_one_city("known"), runs_per_day=RUNS_PER_DAY),
    # The same, but the semi-join keeps one row in a hundred: below the join is where it belongs.
    Query("few", sql=sold_in_one_city("returned"), runs_per_day=RUNS_PER_DAY),
]


@pytest.fixture(scope="module")
def tried(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    folder = tmp_path_factory.mktemp("exclude")
    draw = np.random.default_rng(7)
    sales = {
        "id": pa.array(draw.permutation(ROWS)),
        "shop": pa.array(np.arange(ROWS) % SHOPS),
        "amount": pa.array(draw.integers(0, 2**62, ROWS)),
    }
    write_table(folder, "sales", sales)
    write_table(folder, "known", {"id": pa.array(np.arange(ROWS - 1000))})
    write_table(folder, "returned", {"id": pa.array(np.arange(1000))})
    write_table(folder, "shops", {"shop": pa.array(np.arange(SHOPS)), "city": pa.array(np.arange(SHOPS) % CITIES)})
    return try_rule(folder, "exclude_rules", QUERIES, allow=(EXCLUDED,), settings=SESSION)


def test_the_rule_that_moved_the_semi_join_is_proposed_to_be_left_out(tried: Tried) -> None:
    assert tried.proposed("nearly_all") == Policy.of({EXCLUDED: MOVED_IT})


def test_it_is_accepted_with_equal_results_and_fewer_rows_shuffled(tried: Tried) -> None:
    tried.accepted("nearly_all")
    before, after = tried.counter("nearly_all", "shuffle_write_rows")
    assert min(before) - max(after) > 0.9 * ROWS  # the second shuffle of what the semi-join let through


def test_where_the_semi_join_filters_nothing_is_proposed(tried: Tried) -> None:
    assert tried.left_alone("few") == "no excludable rule made the plan more expensive"
