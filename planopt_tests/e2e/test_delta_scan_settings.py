"""A session that switched data skipping off: every file is opened for a range that only one of them holds.

`sales` has 80,000 rows in 8 files, each with the next 10,000 ids. Without skipping a range of 1,000 ids opens all
eight; with it, the log says which file to read.
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

SKIPPING = "spark.databricks.delta.stats.skipping"
ROWS, FILES = 80_000, 8
QUERIES = [
    Query("few", sql="SELECT max(amount) FROM sales WHERE id < 1000", runs_per_day=RUNS_PER_DAY),
    # The same session and table, but nearly every row is wanted: no file could be skipped.
    Query("most", sql="SELECT max(amount) FROM sales WHERE id >= 1000", runs_per_day=RUNS_PER_DAY),
]


@pytest.fixture(scope="module")
def tried(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    folder = tmp_path_factory.mktemp("skipping")
    amounts = np.random.default_rng(7).integers(0, 2**62, ROWS)
    write_table(folder, "sales", {"id": pa.array(np.arange(ROWS)), "amount": pa.array(amounts)}, files=FILES)
    return try_rule(folder, "delta_scan_settings", QUERIES, allow=(SKIPPING,), settings={SKIPPING: "false"})


def test_the_switch_is_proposed_where_a_range_reads_files_in_vain(tried: Tried) -> None:
    assert tried.proposed("few") == Policy.of({SKIPPING: "true"})


def test_it_is_accepted_with_equal_results_and_fewer_files(tried: Tried) -> None:
    tried.accepted("few")
    before, after = tried.counter("few", "scan_files")
    assert set(before) == {FILES}
    assert set(after) == {1}


def test_where_most_rows_are_wanted_nothing_is_proposed(tried: Tried) -> None:
    assert tried.left_alone("most") == "most rows that the scans read matched"
