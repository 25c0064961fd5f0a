"""A join input that is small only at run time: found from actual rows, re-planned without the shuffle, accepted.

`events` has 1,000,000 rows of 37 kinds. Grouped by kind it is 37 rows, but the planner estimates it at the size of the
table. So it shuffles `visits`, 400,000 rows, before adaptive execution can see how small the other side is.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from planopt_assets.model.policy import Policy
from planopt_assets.model.workload import Query
from planopt_tests.e2e.one_rule import RUNS_PER_DAY, Tried, try_rule, write_table

pytestmark = pytest.mark.e2e

EVENTS, VISITS, PAYLOAD = 1_000_000, 400_000, 40
GROUPED = "(SELECT kind, max(value) AS top, max(other) AS other FROM events GROUP BY kind) g"
MODULE = """
from pyspark.sql import functions as F

def frame(spark):
    top, other = F.max("value").alias("top"), F.max("other").alias("other")
    g = spark.table("events").groupBy("kind").agg(top, other).alias("g")
    v = spark.table("visits").alias("v")
    return v.join(g, F.col("v.kind") == F.col("g.kind")).select("v.id", "v.payload", "g.top", "g.other")
"""
QUERIES = [
    Query(
        "text",
        sql=f"SELECT v.id, v.payload, g.top, g.other FROM visits v JOIN {GROUPED} ON v.kind = g.kind",
        runs_per_day=RUNS_PER_DAY,
    ),
    Query("frame", python="queries:frame", runs_per_day=RUNS_PER_DAY),
    # The same, joined to a table that is broadcast anyway: there is nothing to save.
    Query(
        "small", sql=f"SELECT k.name, g.top FROM kinds k JOIN {GROUPED} ON k.kind = g.kind", runs_per_day=RUNS_PER_DAY
    ),
]


def make_data(folder: Path) -> Path:
    """Values and payloads are random, so that files are as large as what is in them; drawn from a fixed seed."""
    draw = np.random.default_rng(7)
    events = {
        "kind": pa.array(np.arange(EVENTS) % 37),
        "value": pa.array(draw.integers(0, 2**62, EVENTS)),
        "other": pa.array(draw.integers(0, 2**62, EVENTS)),
    }
    visits = {
        "id": pa.array(np.arange(VISITS)),
        "kind": pa.array(np.arange(VISITS) % 41),
        "payload": pa.array([draw.bytes(PAYLOAD) for _ in range(VISITS)], pa.binary()),
    }
    write_table(folder, "events", events)
    write_table(folder, "visits", visits)
    write_table(folder, "kinds", {"kind": pa.array(np.arange(37)), "name": pa.array([f"k{i}" for i in range(37)])})
    (folder / "queries.py").write_text(MODULE)
    return folder


@pytest.fixture(scope="module")
def tried(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    folder = make_data(tmp_path_factory.mktemp("runtime"))
    only = ("spark.sql.autoBroadcastJoinThreshold",)
    return try_rule(folder, "broadcast_small_side", QUERIES, allow=only, allow_python=True)


@pytest.mark.parametrize("query", ["text", "frame"])
def test_the_small_side_is_found_from_actual_rows(tried: Tried, query: str) -> None:
    assert tried.proposed(query) == Policy.of(hints=["broadcast(join0.right g)"])


@pytest.mark.parametrize("query", ["text", "frame"])
def test_it_is_replanned_without_the_shuffle(tried: Tried, query: str) -> None:
    (candidate,) = tried.rows("candidate_plans", query)
    assert (candidate["kept"], candidate["took_effect"]) == (True, ["broadcast(join0.right g)"])
    diff = candidate["diff"].splitlines()
    assert any(line.startswith("-") and "SortMergeJoin" in line for line in diff)
    assert any(line.startswith("+") and "BroadcastHashJoin Inner Right" in line for line in diff)


@pytest.mark.parametrize("query", ["text", "frame"])
def test_it_is_accepted_with_equal_results_and_fewer_shuffle_bytes(tried: Tried, query: str) -> None:
    tried.accepted(query)
    before, after = tried.counter(query, "shuffle_write_bytes")
    assert min(before) > VISITS * PAYLOAD  # every visit went through the shuffle with its payload
    assert max(after) < 1_000_000  # only the grouped kinds do


def test_where_the_other_side_is_small_as_well_nothing_is_proposed(tried: Tried) -> None:
    tried.left_alone("small")
