"""The ladder on real files: one rung up where most rows are read in vain, one down where looking never helps.

Up: `sales` has 10 row groups whose kinds all reach from 0 to 999, so minimum and maximum say nothing; but each group
has kinds of its own, and its dictionary tells. The session switched dictionaries off.

Down: `notes` has 4,000 rows in 40 files, and 95 % of the rows of every page are wanted. No page can be left out, and
the page index of every file is read to learn that. The column has no dictionary to be looked at as well.
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

DICTIONARIES, PAGES = "parquet.filter.dictionary.enabled", "parquet.filter.columnindex.enabled"
ROWS, GROUP = 100_000, 10_000
UP = [
    Query("rare", sql="SELECT max(amount) FROM sales WHERE kind = 253", runs_per_day=RUNS_PER_DAY),
    Query("common", sql="SELECT max(amount) FROM sales WHERE kind < 250", runs_per_day=RUNS_PER_DAY),
]
DOWN = [
    Query("nearly_all", sql="SELECT max(amount) FROM notes WHERE score >= 5", runs_per_day=RUNS_PER_DAY),
    Query("half", sql="SELECT max(amount) FROM notes WHERE score >= 50", runs_per_day=RUNS_PER_DAY),
]


@pytest.fixture(scope="module")
def up(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    folder = tmp_path_factory.mktemp("up")
    kinds = np.arange(ROWS) % 50 * 10 + np.arange(ROWS) // GROUP
    kinds[::1000], kinds[1::1000] = 0, 999  # in every group, so that all have the same range
    amounts = np.random.default_rng(7).integers(0, 2**62, ROWS)
    write_table(folder, "sales", {"kind": pa.array(kinds), "amount": pa.array(amounts)}, rows_per_group=GROUP)
    off = {DICTIONARIES: "false"}
    return try_rule(folder, "climb_pruning_ladder", UP, allow=(DICTIONARIES,), settings=off)


@pytest.fixture(scope="module")
def down(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    folder = tmp_path_factory.mktemp("down")
    draw = np.random.default_rng(7)
    columns = {"score": pa.array(draw.integers(0, 100, 4000)), "amount": pa.array(draw.integers(0, 2**62, 4000))}
    write_table(folder, "notes", columns, files=40, dictionaries=False)
    return try_rule(folder, "climb_pruning_ladder", DOWN, allow=(PAGES,))


def test_a_step_up_is_proposed_where_rows_are_read_in_vain(up: Tried) -> None:
    assert up.proposed("rare") == Policy.of({DICTIONARIES: "true"})
    assert "one rung up, to dictionaries" in up.decision("rare")["reason"]


def test_the_step_up_is_accepted_with_equal_results_and_fewer_rows_read(up: Tried) -> None:
    up.accepted("rare")
    before, after = up.counter("rare", "input_rows")
    assert min(before) >= ROWS
    assert max(after) <= GROUP + 10  # of one row group; the rest are the rows of shuffles


def test_where_enough_rows_are_wanted_no_step_up_is_proposed(up: Tried) -> None:
    assert "of the rows read matched: no rung to try" in up.left_alone("common")


def test_a_step_down_is_proposed_where_nothing_was_left_out(down: Tried) -> None:
    assert down.proposed("nearly_all") == Policy.of({PAGES: "false"})
    assert "one rung down, without page statistics" in down.decision("nearly_all")["reason"]


def test_the_step_down_is_accepted_with_equal_results_and_without_reading_page_indexes(down: Tried) -> None:
    """The reader is all that changes: plan, rows and files stay as they are."""
    down.accepted("nearly_all")
    before, after = down.counter("nearly_all", "input_bytes")
    assert min(before) > 2 * max(after)
    for same in ("input_rows", "scan_files", "scan_bytes"):
        before, after = down.counter("nearly_all", same)
        assert set(before) == set(after)


def test_where_half_of_the_rows_are_wanted_no_step_is_proposed(down: Tried) -> None:
    assert "of the rows read matched: no rung to try" in down.left_alone("half")
