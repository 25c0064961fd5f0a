"""A join that shuffles all of a table to find that nearly none of it has a match.

`lines` has 200,000 rows of 2,000 parts. 40 of these parts are of one brand: 4,000 lines match, and 196,000 are shuffled
and sorted in vain. The session does not broadcast. A filter made from the 40 parts leaves them out at the scan.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from planopt_assets.model.workload import Query
from planopt_tests.e2e.one_rule import RUNS_PER_DAY, Tried, try_rule, write_table

pytestmark = pytest.mark.e2e

BLOOM = "spark.sql.optimizer.runtime.bloomFilter"
APPLICATION = f"{BLOOM}.applicationSideScanSizeThreshold"
LINES, PARTS, BRANDS = 200_000, 2_000, 50
SESSION = {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.shuffle.partitions": "4"}
JOINED = "SELECT p.part, l.amount FROM lines l JOIN parts p ON l.part = p.part"
QUERIES = [
    Query("one_brand", sql=f"{JOINED} WHERE p.brand = 7", runs_per_day=RUNS_PER_DAY),
    # The same join, but most lines find their part.
    Query("most_brands", sql=f"{JOINED} WHERE p.brand >= 7", runs_per_day=RUNS_PER_DAY),
]


@pytest.fixture(scope="module")
def tried(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    folder = tmp_path_factory.mktemp("runtime_filters")
    draw = np.random.default_rng(7)
    lines = {"part": pa.array(draw.permutation(LINES) % PARTS), "amount": pa.array(draw.integers(0, 2**62, LINES))}
    write_table(folder, "lines", lines)
    write_table(folder, "parts", {"part": pa.array(np.arange(PARTS)), "brand": pa.array(np.arange(PARTS) % BRANDS)})
    allow = (APPLICATION, f"{BLOOM}.creationSideThreshold", f"{BLOOM}.enabled")
    return try_rule(folder, "enable_runtime_filters", QUERIES, allow=allow, settings=SESSION)


def test_a_threshold_below_the_scan_is_proposed(tried: Tried) -> None:
    ((name, value),) = tried.proposed("one_brand").settings
    assert name == APPLICATION
    (scan,) = (folder for folder in tried.workload.tables if folder.name == "lines")
    assert int(value) <= sum(file.stat().st_size for file in Path(scan.path).glob("*.parquet"))


def test_it_is_replanned_with_a_filter_at_the_scan(tried: Tried) -> None:
    (candidate,) = tried.rows("candidate_plans", "one_brand")
    assert candidate["took_effect"] == [APPLICATION]


def test_it_is_accepted_with_equal_results_and_fewer_rows_shuffled(tried: Tried) -> None:
    tried.accepted("one_brand")
    before, after = tried.counter("one_brand", "shuffle_write_rows")
    assert min(before) > LINES
    assert max(after) < LINES / 10  # those of one brand, and what the filter lets through by mistake


def test_where_most_rows_match_nothing_is_proposed(tried: Tried) -> None:
    assert "no shuffled join has a small filtered input" in tried.left_alone("most_brands")
