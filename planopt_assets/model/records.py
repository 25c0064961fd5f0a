"""The finer records of an observation: operators, EXPLAIN lines, tasks, and what many observations share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """One operator of one plan, with what was estimated and what happened: a row of `plan_nodes`."""

    query_id: str
    observation_id: str
    phase: str  # initial | final
    node: int
    parent: int
    kind: str
    detail: str
    metrics: tuple[tuple[str, int], ...] = ()
    estimated_rows: int | None = None
    estimated_bytes: int | None = None
    statistics_source: str | None = None  # plan | delta_log | explain | none
    estimated_at_runtime: bool | None = None
    actual_rows: int | None = None
    actual_bytes: int | None = None
    error_factor: float | None = None
    error_by: str | None = None  # rows | bytes
    operator_ms: int | None = None
    smallest_partition_bytes: int | None = None
    median_partition_bytes: int | None = None
    largest_partition_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ExplainLine:
    """One operator or one line of an EXPLAIN text: a row of `explains`, in tier `debug`."""

    query_id: str
    observation_id: str
    mode: str
    position: int
    node_id: int | None = None
    node: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """One task: a row of `task_counters`, in tier `debug`. A task that was killed early has counted nothing."""

    query_id: str
    observation_id: str
    stage: int  # in the order they ran
    task: int
    attempt: int
    status: str
    duration_ms: int | None = None
    cpu_ns: int | None = None
    run_ms: int | None = None
    gc_ms: int | None = None
    input_bytes: int | None = None
    input_rows: int | None = None
    shuffle_read_bytes: int | None = None
    shuffle_read_rows: int | None = None
    shuffle_write_bytes: int | None = None
    shuffle_write_rows: int | None = None
    memory_spill_bytes: int | None = None
    disk_spill_bytes: int | None = None
    peak_memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SharedContent:
    """What many rows share, stored once: a planning environment, a rulepack or a cost model; a row of `provenance`."""

    query_id: str  # of the observation or decision that had it first
    kind: str  # planning_env | rulepack | cost_model_by_unit
    hash: str
    content: str  # JSON


@dataclass(frozen=True, slots=True)
class Edge:
    """From a stored row to a row, source table or column it was made from: a row of `lineage`."""

    query_id: str
    stage: str
    child_id: str
    parent_id: str
