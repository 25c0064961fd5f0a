"""Stages are what runs between two exchanges; each is there once, after those whose output it reads."""

from __future__ import annotations

import pytest

from planopt_assets.model.signals import Scan, Stage
from planopt_assets.observe.signals.scans import scans
from planopt_assets.observe.signals.stages import stages
from planopt_assets.observe.signals.tree import Tree
from planopt_tests.observe.join_shapes import recorded_run
from planopt_tests.observe.signals.plans import tree

pytestmark = pytest.mark.fast

JOINED = """
SortMergeJoin | SortMergeJoin [a#0], [b#1], Inner
  Sort
    AQEShuffleRead | AQEShuffleRead coalesced | partitions=5
      Exchange | shuffle 200 | wrote=900
        Scan parquet | table sales | rows=1000 files=6
  Sort
    AQEShuffleRead | AQEShuffleRead coalesced | partitions=5
      Exchange | shuffle 200 | wrote=17
        Scan parquet | table shops | rows=17 files=1
"""


def found(outline: str, **splits: list[int]) -> tuple[Stage, ...]:
    plan = tree(outline)
    return stages(plan, scans(plan, splits))


def test_a_shuffled_join_has_three_stages() -> None:
    assert found(JOINED, sales=[6], shops=[1]) == (
        Stage(0, (), tasks=6, rows=1000, files=6, shuffle_partitions=200, nodes=(3, 4)),
        Stage(1, (), tasks=1, rows=17, files=1, shuffle_partitions=200, nodes=(7, 8)),
        Stage(2, (0, 1), tasks=5, rows=917, files=0, shuffle_partitions=0, nodes=(0, 1, 2, 5, 6)),
    )


def test_every_operator_is_in_one_stage() -> None:
    for name in ("three", "cte_twice", "nested", "branches", "distinct", "switched"):
        plan = Tree(recorded_run(name).final)
        nodes = [n for s in stages(plan, ()) for n in s.nodes]
        assert sorted(nodes) == [n.index for n in plan.plan.nodes], name


def test_a_stage_reads_only_stages_before_it() -> None:
    for name in ("three", "cte_twice", "nested", "branches"):
        assert all(f < s.index for s in stages(Tree(recorded_run(name).final), ()) for f in s.feeds), name


def test_a_shuffle_read_as_it_was_planned_takes_a_task_for_every_partition() -> None:
    (_, last) = found("Sort\n  Exchange | shuffle 8 | wrote=3\n    Scan parquet | table sales", sales=[2])
    assert last.tasks == 8


def test_a_shuffle_into_one_partition_is_read_by_one_task() -> None:
    plan = "HashAggregate\n  Exchange | Exchange SinglePartition, ENSURE_REQUIREMENTS\n    Scan parquet | table sales"
    first, last = found(plan, sales=[6])
    assert (first.shuffle_partitions, last.tasks) == (1, 1)


def test_a_broadcast_gives_its_reader_neither_rows_nor_tasks() -> None:
    build, last = found(
        """
BroadcastHashJoin
  Scan parquet | table sales | rows=1000 files=6
  BroadcastExchange | BroadcastExchange IdentityBroadcastMode | rows=17
    Scan parquet | table shops | rows=17 files=1
""",
        sales=[6],
        shops=[1],
    )
    assert (build.tasks, build.rows, build.shuffle_partitions) == (1, 17, 0)
    assert last == Stage(1, (0,), tasks=6, rows=1000, files=6, shuffle_partitions=0, nodes=(0, 1))


def test_a_reused_exchange_is_written_once_and_read_by_both() -> None:
    assert found(
        """
Union
  AQEShuffleRead | AQEShuffleRead coalesced | partitions=2
    Exchange | shuffle 200 | wrote=17
      Scan parquet | table sales | rows=400 files=1
  AQEShuffleRead | AQEShuffleRead coalesced | partitions=3
    ReusedExchange | | reuses=2
""",
        sales=[4],
    ) == (
        Stage(0, (), tasks=4, rows=400, files=1, shuffle_partitions=200, nodes=(2, 3)),
        Stage(1, (0,), tasks=5, rows=34, files=0, shuffle_partitions=0, nodes=(0, 1, 4, 5)),
    )


def test_a_sub_query_is_a_stage_that_its_host_waits_for() -> None:
    inner, outer = found(
        """
Filter
  Scan parquet | table sales | rows=400 files=2
  Subquery
    Scan parquet | table shops | rows=17 files=1
""",
        sales=[4],
        shops=[1],
    )
    assert (inner.nodes, inner.tasks, inner.rows) == ((2, 3), 1, 17)
    assert (outer.feeds, outer.nodes, outer.tasks, outer.rows) == ((0,), (0, 1), 4, 400)


@pytest.mark.parametrize(
    ("outline", "tasks"),
    [
        ("Union\n  Scan parquet | table sales\n  Scan parquet | table shops", 7),
        ("CartesianProduct\n  Scan parquet | table sales\n  Scan parquet | table shops", 12),
        ("Coalesce | Coalesce 2\n  Scan parquet | table sales", 2),
        ("Project\n  Range | Range (0, 100, step=1, splits=3)", 3),
        ("Project\n  LocalTableScan", 1),
    ],
)
def test_tasks_of_a_stage_follow_from_its_operators(outline: str, tasks: int) -> None:
    (stage,) = found(outline, sales=[4], shops=[3])
    assert stage.tasks == tasks


def test_tasks_of_a_scan_that_is_pruned_at_run_time_are_not_known() -> None:
    (stage,) = found("Project\n  Scan parquet | table sales | files=3", sales=[0])
    assert (stage.tasks, stage.files) == (0, 3)


def test_what_was_cached_earlier_is_no_stage() -> None:
    outline = "Project\n  Scan In-memory table few\n    Exchange | shuffle 8\n      Scan parquet | table sales"
    (stage,) = found(outline, sales=[4])
    assert stage == Stage(0, (), tasks=0, rows=0, files=0, shuffle_partitions=0, nodes=(0, 1))


def test_a_query_that_ends_in_a_shuffle_has_a_stage_that_reads_it() -> None:
    write, read = found("Exchange | Exchange hashpartitioning(a#0, 8), REPARTITION_BY_COL | wrote=5\n  LocalTableScan")
    assert (write.shuffle_partitions, read.feeds, read.tasks, read.rows) == (8, (0,), 8, 5)


def test_a_plan_without_operators_has_no_stage() -> None:
    assert stages(tree(""), [Scan(0, "sales", 1, 1, 1)]) == ()
