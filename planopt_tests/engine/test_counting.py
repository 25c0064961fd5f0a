"""Counters of an execution are sums over its stages, its plan and its scans, each in its unit."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from planopt_assets.engine.execution.counting import Elapsed, count
from planopt_assets.model.counters import Counters
from planopt_assets.model.plan import Plan, PlanNode
from planopt_assets.model.scan import Funnel, ScanFacts, Size
from planopt_tests.rows import scan_facts

pytestmark = pytest.mark.fast

# Another power of two for each number, so that a sum tells what went in; the second stage has twice as much.
NAMES = [
    "executorCpuTime",
    "executorRunTime",
    "jvmGcTime",
    "numCompleteTasks",
    "numFailedTasks",
    "numKilledTasks",
    "inputRecords",
    "inputBytes",
    "shuffleWriteBytes",
    "shuffleWriteRecords",
    "shuffleReadBytes",
    "shuffleFetchWaitTime",
    "memoryBytesSpilled",
    "diskBytesSpilled",
    "peakExecutionMemory",
    "shuffleRemoteBytesRead",
]
STAGE = {name: 4**i for i, name in enumerate(NAMES, 1)}
STAGES = [STAGE, {name: 2 * value for name, value in STAGE.items()}]

PLAN = Plan(
    "final",
    (
        PlanNode(0, -1, "BroadcastHashJoin", "", (("data size", 999),)),
        PlanNode(1, 0, "BroadcastExchange", "", (("data size", 5), ("number of output rows", 1))),
        PlanNode(2, 0, "BroadcastExchange", "", (("data size", 7), ("number of output rows", 2))),
        PlanNode(3, 0, "BroadcastExchange", "reused"),
        PlanNode(4, 1, "Scan parquet", "", (("number of files read", 3), ("size of files read", 300))),
        PlanNode(5, 2, "Scan parquet", "", (("number of files read", 4), ("size of files read", 400))),
        PlanNode(6, 2, "InMemoryTableScan", ""),
    ),
    "x",
)


def counted(
    stages: list[dict[str, Any]] = STAGES,
    scans: list[ScanFacts] | None = None,
    *,
    plan: Plan = PLAN,
    cpu_has_executors: bool = False,
) -> Counters:
    return count(
        [Elapsed(10, 1), Elapsed(20, 2)],
        Elapsed(400, 40),
        stages,
        plan,
        scans,
        planning_jobs=6,
        jobs=7,
        result_rows=8,
        cpu_has_executors=cpu_has_executors,
        task_memory=9,
    )


def test_a_broadcast_that_tells_whole_pages_counts_a_kibibyte_a_row_at_most() -> None:
    pages = PlanNode(0, -1, "BroadcastExchange", "", (("data size", 64 << 20), ("number of output rows", 192)))
    assert counted(plan=Plan("final", (pages,), "x")).broadcast_bytes == 192 * 1024


def test_every_counter_is_in_its_place_and_unit() -> None:
    three = {name: 3 * value for name, value in STAGE.items()}
    ms = 1_000_000
    assert asdict(counted(scans=[])) == {
        "wall_ns": 430,
        "cpu_ns": 43 + three["executorCpuTime"],
        "planning_wall_ns": 30,
        "planning_cpu_ns": 3,
        "planning_jobs": 6,
        "executor_cpu_ns": three["executorCpuTime"],  # Spark has this one in nanoseconds, the others in milliseconds
        "executor_run_ns": three["executorRunTime"] * ms,
        "gc_ns": three["jvmGcTime"] * ms,
        "jobs": 7,
        "stages": 2,
        "tasks": three["numCompleteTasks"],
        "failed_tasks": three["numFailedTasks"],
        "shuffle_write_tasks": three["numCompleteTasks"],
        "input_rows": three["inputRecords"],
        "scan_files": 7,
        "scan_bytes": 700,
        "shuffle_write_bytes": three["shuffleWriteBytes"],
        "shuffle_write_rows": three["shuffleWriteRecords"],
        "shuffle_read_bytes": three["shuffleReadBytes"],
        "fetch_wait_ns": three["shuffleFetchWaitTime"] * ms,
        "memory_spill_bytes": three["memoryBytesSpilled"],
        "disk_spill_bytes": three["diskBytesSpilled"],
        "peak_memory_bytes": 2 * STAGE["peakExecutionMemory"],  # the largest stage
        "result_rows": 8,
        "killed_tasks": three["numKilledTasks"],
        "broadcast_bytes": 12,
        "cache_reads": 1,
        "table_files": 0,
        "table_bytes": 0,
        "table_rows": 0,
        "partition_files": 0,
        "partition_bytes": 0,
        "read_rows": 0,
        "matched_rows": 0,
        "shuffle_blocks": 0,  # this plan has no shuffle
        "map_memory_bytes": 0,
        "sort_fallback_tasks": 0,
        "input_bytes": three["inputBytes"],
        "shuffle_remote_bytes": three["shuffleRemoteBytesRead"],
        "task_memory_bytes": 9,
    }


def test_executors_in_the_same_process_are_not_counted_twice() -> None:
    assert counted(cpu_has_executors=True).cpu_ns == 43
    assert counted(cpu_has_executors=True).executor_cpu_ns == 3 * STAGE["executorCpuTime"]


def test_only_stages_that_write_a_shuffle_have_shuffle_tasks() -> None:
    reading = {**STAGE, "shuffleWriteRecords": 0}
    assert counted([STAGE, reading]).shuffle_write_tasks == STAGE["numCompleteTasks"]


def shuffle(partitioning: str, written: int) -> PlanNode:
    return PlanNode(0, -1, "Exchange", f"Exchange {partitioning}", (("shuffle bytes written", written),))


@pytest.mark.parametrize(
    ("shuffles", "blocks"),
    [
        ([shuffle("hashpartitioning(k#0, 200), ENSURE_REQUIREMENTS", 9)], 800),
        ([shuffle("SinglePartition, ENSURE_REQUIREMENTS", 9)], 4),
        ([shuffle("hashpartitioning(k#0, 200)", 9), shuffle("rangepartitioning(k#0 ASC, 100)", 9)], 600),  # the mean
        ([shuffle("hashpartitioning(k#0, 200)", 9), shuffle("hashpartitioning(k#0, 100)", 0)], 800),  # one never ran
    ],
)
def test_blocks_are_writing_tasks_times_planned_partitions(shuffles: list[PlanNode], blocks: int) -> None:
    found = counted([STAGE], plan=Plan("final", tuple(shuffles), "x"))
    assert found.shuffle_blocks == blocks * STAGE["numCompleteTasks"] // 4


def aggregate(kind: str, **metrics: int) -> PlanNode:
    return PlanNode(0, -1, kind, f"{kind}(keys=[k#0])", tuple((n.replace("_", " "), v) for n, v in metrics.items()))


def test_what_aggregations_hold_in_their_maps_and_their_tasks_that_sort_are_counted() -> None:
    nodes = (
        aggregate("HashAggregate", peak_memory=700, number_of_sort_fallback_tasks=1),
        aggregate("HashAggregate", peak_memory=50),
        aggregate("ObjectHashAggregate", number_of_sort_fallback_tasks=2),
        aggregate("Sort", peak_memory=9_000),
    )
    found = counted([STAGE], plan=Plan("final", nodes, "x"))
    assert (found.map_memory_bytes, found.sort_fallback_tasks) == (750, 3)


def test_an_execution_without_stages_costs_only_the_driver() -> None:
    found = counted([], plan=Plan("final", (), "x"))
    others = {"wall_ns", "cpu_ns", "planning_wall_ns", "planning_cpu_ns", "planning_jobs", "jobs", "result_rows"}
    others.add("task_memory_bytes")  # what it is told
    assert {value for name, value in asdict(found).items() if name not in others} == {0, None}
    assert found.cpu_ns == 43


# The funnel

FUNNEL = ("table_files", "table_bytes", "table_rows", "partition_files", "partition_bytes", "read_rows", "matched_rows")


def scan(times: int = 1, **changes: Any) -> ScanFacts:
    def size(number: int) -> Size:
        return Size(times * number, times * (number + 1), times * (number + 2))

    stages = {"total": size(10), "partition": size(20), "scanned": size(30), "read": size(40), "matched": size(50)}
    return scan_facts(funnel=Funnel(**{**stages, **changes}))


def funnel(scans: list[ScanFacts] | None) -> list[int | None]:
    found = counted(scans=scans)
    return [getattr(found, name) for name in FUNNEL]


def test_scans_are_summed_stage_by_stage() -> None:
    assert funnel([scan()]) == [10, 11, 12, 20, 21, 42, 52]
    assert funnel([scan(), scan(100)]) == [101 * n for n in (10, 11, 12, 20, 21, 42, 52)]


@pytest.mark.parametrize(
    ("stage", "unknown"),
    [
        ("total", ["table_files", "table_bytes", "table_rows"]),
        ("partition", ["partition_files", "partition_bytes"]),
        ("scanned", []),
        ("read", ["read_rows"]),
        ("matched", ["matched_rows"]),
    ],
)
def test_what_one_scan_does_not_tell_is_unknown_for_all(stage: str, unknown: list[str]) -> None:
    found = counted(scans=[scan(), scan(**{stage: Size(files=3 if stage == "read" else None)})])
    assert [name for name in FUNNEL if getattr(found, name) is None] == unknown


def test_a_scan_that_never_ran_is_not_counted() -> None:
    assert funnel([scan(), scan(100, read=Size())]) == funnel([scan()])


def test_without_scans_asked_for_the_funnel_is_unknown() -> None:
    assert funnel(None) == [None] * len(FUNNEL)
