"""An OR that Parquet never sees, because a function stands on each of its sides: all row groups are read.

`sales` has 100 days in 10 row groups of one file. `(day = 5 AND f) OR (day = 7 AND g)` wants two days of the first
group. Its normal form holds `day = 5 OR day = 7`, which can be handed to the reader.
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

ROWS, GROUP = 100_000, 10_000
ANY = "spark.sql.parquet.filterPushdown"  # a rewrite is no knob; this keeps the knobs of other rules out


def counted(predicate: str) -> str:
    return f"SELECT count(note) FROM sales WHERE {predicate}"


QUERIES = [
    Query(
        "two_days",
        sql=counted("(day = 5 AND length(note) > 1) OR (day = 7 AND length(note) < 9)"),
        runs_per_day=RUNS_PER_DAY,
    ),
    # The same form, but each side wants nearly all days.
    Query(
        "all_days",
        sql=counted("(day >= 5 AND length(note) > 1) OR (day <= 7 AND length(note) < 9)"),
        runs_per_day=RUNS_PER_DAY,
    ),
    Query("plain", sql=counted("day = 5 OR day = 7"), runs_per_day=RUNS_PER_DAY),
]


@pytest.fixture(scope="module")
def tried(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    folder = tmp_path_factory.mktemp("normal_form")
    days, notes = np.arange(ROWS) // 1000, [f"n{i % 7}" for i in range(ROWS)]
    write_table(folder, "sales", {"day": pa.array(days), "note": pa.array(notes)}, rows_per_group=GROUP)
    return try_rule(folder, "normalise_predicates", QUERIES, allow=(ANY,))


def test_the_rewrite_is_proposed_where_an_or_was_kept_from_parquet(tried: Tried) -> None:
    assert tried.proposed("two_days") == Policy.of(rewrites=["cnf"])


def test_it_is_replanned_with_a_companion_that_the_reader_is_handed(tried: Tried) -> None:
    (candidate,) = tried.rows("candidate_plans", "two_days")
    assert candidate["took_effect"] == ["cnf"]
    assert "+scan of sales is handed [Or(EqualTo(day,5),EqualTo(day,7))]" in candidate["diff"].splitlines()


def test_it_is_accepted_with_equal_results_and_fewer_rows_read(tried: Tried) -> None:
    tried.accepted("two_days")
    before, after = tried.counter("two_days", "input_rows")
    assert min(before) >= ROWS
    assert max(after) <= GROUP + 10  # of one row group; the rest are the rows of shuffles


def test_where_most_rows_are_wanted_or_the_or_is_pushed_nothing_is_proposed(tried: Tried) -> None:
    assert "too many of the " in tried.left_alone("all_days")
    assert tried.left_alone("plain") == "every OR was pushed to Parquet, or there is none"
