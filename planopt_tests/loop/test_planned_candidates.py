"""A proposal is planned before it is tried: what changes neither plan nor partitioning is dropped."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.planned import planned_candidate
from planopt_assets.model.candidate import Candidate
from planopt_assets.model.policy import Policy
from planopt_assets.model.workload import Query
from planopt_tests.conftest import workload_of

pytestmark = pytest.mark.spark

BY_SHOP = Query("by_shop", sql="SELECT shop, count(*) AS n FROM sales GROUP BY shop")


def planned(tables: Path, settings: dict[str, str], *hints: str, query: Query = BY_SHOP) -> Candidate:
    policy = Policy.of(settings, hints=hints)
    workspace = Workspace(workload_of(tables, [query]))
    return planned_candidate(workspace, query, workspace.arm(policy), ("dec_1",), "inp_1")


def test_a_setting_that_changes_nothing_is_dropped_with_that_reason(
    spark: SparkSession, unchanging_tables: Path
) -> None:
    candidate = planned(unchanging_tables, {"spark.sql.shuffle.partitions": "200"})
    assert (candidate.kept, candidate.diff) == (False, "")
    assert candidate.reason == "dropped: plan and partitioning stay the same"


def test_another_number_of_shuffle_partitions_is_kept_with_its_diff(
    spark: SparkSession, unchanging_tables: Path
) -> None:
    candidate = planned(unchanging_tables, {"spark.sql.shuffle.partitions": "2"})
    assert candidate.kept
    assert "Exchange hashpartitioning 200" in candidate.diff
    assert "Exchange hashpartitioning 2" in candidate.diff


def test_another_number_of_scan_tasks_is_kept_though_the_plan_reads_the_same(
    spark: SparkSession, unchanging_tables: Path
) -> None:
    candidate = planned(unchanging_tables, {"spark.sql.files.maxPartitionBytes": str(1024 * 1024)})
    assert candidate.kept
    assert "+scan of sales in 6 tasks" in candidate.diff
    assert "Exchange" not in candidate.diff


def test_a_setting_this_spark_does_not_know_is_dropped_not_tried(spark: SparkSession, unchanging_tables: Path) -> None:
    candidate = planned(unchanging_tables, {"spark.sql.no.such.knob": "1"})
    assert not candidate.kept
    assert "PLN-209" in candidate.reason


# Hints

JOINED = Query("joined", sql="SELECT a.id, s.city FROM sales a JOIN shops s ON a.shop = s.shop")
OUTER = Query("outer", sql="SELECT a.id, s.city FROM sales a FULL JOIN shops s ON a.shop = s.shop")


def test_a_hint_that_changes_the_join_is_kept_and_named(spark: SparkSession, unchanging_tables: Path) -> None:
    candidate = planned(unchanging_tables, {}, "broadcast(join0.left a)", query=JOINED)
    assert (candidate.kept, candidate.reason) == (True, "the plan changes")
    assert candidate.took_effect == ("broadcast(join0.left a)",)
    assert "BroadcastHashJoin Inner Right" in candidate.diff
    assert "BroadcastHashJoin Inner Left" in candidate.diff


def test_a_hint_that_the_join_cannot_follow_is_not_applied(spark: SparkSession, unchanging_tables: Path) -> None:
    candidate = planned(unchanging_tables, {}, "broadcast(join0.right s)", query=OUTER)
    assert not candidate.kept
    assert candidate.reason == "dropped: hint not applied: join0.right s stays SortMergeJoin"


def test_a_hint_for_what_spark_does_anyway_is_not_applied(spark: SparkSession, unchanging_tables: Path) -> None:
    candidate = planned(unchanging_tables, {}, "broadcast(join0.right s)", query=JOINED)
    assert candidate.reason == "dropped: hint not applied: join0.right s stays BroadcastHashJoin"


def test_a_hint_with_an_unknown_alias_is_not_applied(spark: SparkSession, unchanging_tables: Path) -> None:
    candidate = planned(unchanging_tables, {}, "broadcast(join0.right x)", query=JOINED)
    assert candidate.reason == "dropped: hint not applied: broadcast(join0.right x): that input is called s"


def test_a_setting_of_adaptive_execution_is_kept_for_a_trial(spark: SparkSession, unchanging_tables: Path) -> None:
    candidate = planned(unchanging_tables, {"spark.sql.adaptive.advisoryPartitionSizeInBytes": "1048576"})
    assert (candidate.kept, candidate.reason) == (True, "takes effect only at run time; a trial will tell")
