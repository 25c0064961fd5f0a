"""Scans in too many tasks for small files, and in too few for large ones: both are cut anew.

`days` has 160 files of 1 kB. Spark counts 4 MiB for opening each, so that 32 of them fill a task: five tasks, where two
would do. `wide` has three files of 67 MiB: three tasks on two cores, so that one core waits while the last is read.
That costs time and no CPU, and is of interest only where the objective is `latency`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from planopt_assets.model.policy import Policy
from planopt_assets.model.workload import Query
from planopt_tests.e2e.one_rule import RUNS_PER_DAY, Tried, largest_task, random_bytes, try_rule, write_table

pytestmark = pytest.mark.e2e

FILES, ROWS = 160, 16_000
WIDE_FILES, WIDE_ROWS, WIDTH = 3, 70_000, 1_000
OPEN_COST, MIN_NUMBER = "spark.sql.files.openCostInBytes", "spark.sql.files.minPartitionNum"
SMALL = Query("small", sql="SELECT day, amount FROM days", runs_per_day=RUNS_PER_DAY)
FEW = Query("few", sql="SELECT amount FROM compacted WHERE amount > 3", runs_per_day=RUNS_PER_DAY)
LARGE = Query("large", sql="SELECT id, hash(payload) AS h FROM wide", runs_per_day=RUNS_PER_DAY)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from deltalake import WriterProperties, write_deltalake

    folder, ids, draw = tmp_path_factory.mktemp("splits"), np.arange(ROWS), np.random.default_rng(7)
    days = pa.table({"day": pa.array(ids % FILES), "amount": pa.array(ids % 1000)})
    write_deltalake(folder / "data" / "days", days, partition_by=["day"])
    write_table(folder, "compacted", {"amount": pa.array(np.arange(20 * ROWS) % 1000)}, files=2)
    # Many row groups: a file can be cut only between them.
    groups = WriterProperties(compression="UNCOMPRESSED", max_row_group_size=5_000)
    for _ in range(WIDE_FILES):
        wide = pa.table({"id": pa.array(np.arange(WIDE_ROWS)), "payload": random_bytes(draw, WIDE_ROWS, WIDTH)})
        write_deltalake(folder / "data" / "wide", wide, mode="append", writer_properties=groups, target_file_size=10**9)
    return folder


@pytest.fixture(scope="module")
def tried(spark: SparkSession, folder: Path) -> Tried:
    return try_rule(folder, "right_size_splits", [SMALL, FEW, LARGE], allow=(OPEN_COST, MIN_NUMBER))


@pytest.fixture(scope="module")
def tried_for_latency(spark: SparkSession, folder: Path) -> Tried:
    changes = {"objective": "latency", "store": str(folder / "latency")}
    return try_rule(folder, "right_size_splits", [LARGE], allow=(MIN_NUMBER,), **changes)


def test_small_files_are_packed_by_their_size_and_read_in_fewer_tasks(tried: Tried) -> None:
    assert tried.proposed("small") == Policy.of({OPEN_COST: "65536"})
    tried.accepted("small")
    before, after = tried.counter("small", "tasks")
    assert (set(before), set(after)) == ({5}, {2})


def test_files_that_make_one_task_for_each_core_are_left_alone(tried: Tried) -> None:
    assert "the 2 scan tasks are as few as the cores and the bytes allow" in tried.left_alone("few")


def test_large_files_are_cut_smaller_where_the_clock_counts_so_that_no_task_is_left_over(
    tried_for_latency: Tried,
) -> None:
    assert tried_for_latency.proposed("large") == Policy.of({MIN_NUMBER: "8"})
    tried_for_latency.accepted("large")
    before, after = tried_for_latency.again("large")
    assert largest_task(before, "input_rows") == WIDE_ROWS
    assert largest_task(after, "input_rows") < WIDE_ROWS / 2


def test_idle_cores_cost_no_cpu_and_are_left_alone_where_only_cpu_counts(tried: Tried) -> None:
    assert "saves the clock and not CPU; objective `latency` would try it" in tried.left_alone("large")
