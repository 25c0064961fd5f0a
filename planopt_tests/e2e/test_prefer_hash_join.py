"""A merge join that sorts both inputs, where one of them fits into a hash table: joined without any sort.

`members` has 20,000 rows and `visits` 200,000. A full join can broadcast neither, so Spark shuffles and sorts both.
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

MEMBERS, VISITS = 20_000, 200_000
THRESHOLD = "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold"
QUERIES = [
    Query(
        "uneven",
        sql="SELECT m.name, v.page FROM members m FULL JOIN visits v ON m.id = v.member",
        runs_per_day=RUNS_PER_DAY,
    ),
    # As many rows on either side: a table of all of one costs nearly as much as the sorts.
    Query(
        "alike",
        sql="SELECT m.name, n.name AS other FROM members m FULL JOIN members n ON m.id = n.name",
        runs_per_day=RUNS_PER_DAY,
    ),
]


@pytest.fixture(scope="module")
def tried(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    folder, draw = tmp_path_factory.mktemp("sorts"), np.random.default_rng(7)
    members = {"id": pa.array(draw.permutation(MEMBERS)), "name": pa.array(np.arange(MEMBERS))}
    visits = {"member": pa.array(draw.integers(0, 30_000, VISITS)), "page": pa.array(np.arange(VISITS))}
    write_table(folder, "members", members)
    write_table(folder, "visits", visits)
    return try_rule(folder, "prefer_hash_join", QUERIES, allow=(THRESHOLD,))


def test_a_small_enough_input_is_joined_by_hash_and_nothing_is_sorted(tried: Tried) -> None:
    assert tried.proposed("uneven") == Policy.of({THRESHOLD: str(64 * 2**20)})
    tried.accepted("uneven")
    before, after = tried.again("uneven")
    assert (len(operators(before, "Sort")), len(operators(after, "Sort"))) == (2, 0)
    assert len(operators(after, "ShuffledHashJoin")) == 1


def test_where_a_table_costs_nearly_as_much_as_the_sorts_nothing_is_proposed(tried: Tried) -> None:
    assert "not worth a trial: would save 3 ms" in tried.left_alone("alike")  # 40,000 x 200 ns - 20,000 x 250 ns
