"""A proposal is planned before it is tried: what changes neither plan nor partitioning is dropped."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from planopt_assets.engine.workspace import Workspace
from planopt_assets.model.candidate import Candidate
from planopt_assets.model.policy import Policy
from planopt_assets.model.workload import Query
from planopt_assets.replan.stage import _planned
from planopt_assets.run import Run
from planopt_tests.conftest import workload_of

pytestmark = pytest.mark.spark

BY_SHOP = Query("by_shop", sql="SELECT shop, count(*) AS n FROM sales GROUP BY shop")


def planned(tables: Path, settings: dict[str, str]) -> Candidate:
    run = Run(Workspace(workload_of(tables, [BY_SHOP])), "run")
    return _planned(run, BY_SHOP, Policy.of(settings), ("dec_1",), "inp_1")


def test_a_setting_that_changes_nothing_is_dropped_with_that_reason(spark: SparkSession, tables: Path) -> None:
    candidate = planned(tables, {"spark.sql.shuffle.partitions": "200"})
    assert (candidate.kept, candidate.diff) == (False, "")
    assert candidate.reason == "dropped: plan and partitioning stay the same"


def test_another_number_of_shuffle_partitions_is_kept_with_its_diff(spark: SparkSession, tables: Path) -> None:
    candidate = planned(tables, {"spark.sql.shuffle.partitions": "2"})
    assert candidate.kept
    assert "Exchange hashpartitioning 200" in candidate.diff
    assert "Exchange hashpartitioning 2" in candidate.diff


def test_another_number_of_scan_tasks_is_kept_though_the_plan_reads_the_same(spark: SparkSession, tables: Path) -> None:
    candidate = planned(tables, {"spark.sql.files.maxPartitionBytes": str(1024 * 1024)})
    assert candidate.kept
    assert "+scan of sales in 6 tasks" in candidate.diff
    assert "Exchange" not in candidate.diff


def test_a_setting_this_spark_does_not_know_is_dropped_not_tried(spark: SparkSession, tables: Path) -> None:
    candidate = planned(tables, {"spark.sql.no.such.knob": "1"})
    assert not candidate.kept
    assert "PLN-209" in candidate.reason
