"""A broadcast of a large input for a few rows: found by its rows, re-planned as a shuffled hash join, accepted.

`keys` has 3,000,000 rows and is broadcast, because the session allows 200 MB. `items` has 2,000 rows, and an anti join
builds its right input whatever its size.
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

KEYS, ITEMS = 3_000_000, 2_000
QUERIES = [
    Query(
        "absent",
        sql="SELECT i.id FROM items i LEFT ANTI JOIN keys k ON i.id = k.id",
        runs_per_day=RUNS_PER_DAY,
    ),
    # The other way round the broadcast spares the large input a shuffle.
    Query(
        "present",
        sql="SELECT count(*) AS n FROM keys k LEFT SEMI JOIN items i ON i.id = k.id",
        runs_per_day=RUNS_PER_DAY,
    ),
]


@pytest.fixture(scope="module")
def tried(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    folder, draw = tmp_path_factory.mktemp("costly"), np.random.default_rng(5)
    write_table(folder, "keys", {"id": pa.array(draw.permutation(KEYS) * 2)}, files=2)
    write_table(folder, "items", {"id": pa.array(np.arange(ITEMS))})
    wide = {"spark.sql.autoBroadcastJoinThreshold": "200MB"}
    only = ("spark.sql.autoBroadcastJoinThreshold",)
    return try_rule(folder, "drop_costly_broadcast", QUERIES, allow=only, settings=wide, objective="latency")


def test_it_is_found_from_actual_rows(tried: Tried) -> None:
    assert tried.proposed("absent") == Policy.of(hints=["shuffle_hash(join0.right k)"])


def test_it_is_replanned_as_a_shuffled_hash_join(tried: Tried) -> None:
    (candidate,) = tried.rows("candidate_plans", "absent")
    assert candidate["kept"], candidate["reason"]
    diff = candidate["diff"].splitlines()
    assert any(line.startswith("-") and "BroadcastHashJoin" in line for line in diff)
    assert any(line.startswith("+") and "ShuffledHashJoin" in line for line in diff)


def test_it_is_accepted_with_equal_results_and_without_the_broadcast(tried: Tried) -> None:
    tried.accepted("absent")
    before, after = tried.counter("absent", "broadcast_bytes")
    assert min(before) > 8 * KEYS
    assert max(after) < 1_000_000


def test_where_the_broadcast_spares_a_shuffle_nothing_is_proposed(tried: Tried) -> None:
    tried.left_alone("present")
