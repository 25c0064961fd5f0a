"""What one execution cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Counters:
    """Counters of exactly one execution; planning is kept apart and times are nanoseconds.

    `cpu_ns` is what the query asks for: driver, executors and Python workers, planning included; not the JVM's own
    compiler, which rests once it is warm, and not its collector, which has a guard of its own (`gc_ns`).
    Executor CPU alone hides broadcasts that are built on the driver, so it is never judged on its own.

    None is unknown, not zero. Of a run of the user's own job neither the CPU of the driver is known (the process does
    other work too) nor, where another plan than the query's own ran, what only that plan tells.
    """

    wall_ns: int
    cpu_ns: int | None
    planning_wall_ns: int | None
    planning_cpu_ns: int | None
    planning_jobs: int
    executor_cpu_ns: int
    executor_run_ns: int
    gc_ns: int
    jobs: int
    stages: int
    tasks: int
    failed_tasks: int
    shuffle_write_tasks: int
    input_rows: int
    scan_files: int | None
    scan_bytes: int | None
    shuffle_write_bytes: int
    shuffle_write_rows: int
    shuffle_read_bytes: int
    fetch_wait_ns: int
    memory_spill_bytes: int
    disk_spill_bytes: int
    peak_memory_bytes: int
    result_rows: int | None
    # Since schema version 2; None in older rows, and where an execution was not asked for its plan.
    killed_tasks: int | None = None
    broadcast_bytes: int | None = None
    cache_reads: int | None = None  # scans answered from a cached plan
    # The scans of registered tables, from all of the table to what matched; row groups are nowhere counted by Spark.
    table_files: int | None = None
    table_bytes: int | None = None
    table_rows: int | None = None
    partition_files: int | None = None  # left after partition filters
    partition_bytes: int | None = None
    read_rows: int | None = None
    matched_rows: int | None = None
    # Since schema version 3.
    shuffle_blocks: int | None = None  # writing tasks times planned partitions: each is paid for, an empty one less
    # Since schema version 4. Inside aggregations, which change neither plan nor rows.
    map_memory_bytes: int | None = None  # of hash aggregations, for groups that found no place in their fast map
    sort_fallback_tasks: int | None = None  # tasks of aggregations that gave up hashing and sorted
    # What tasks read through the file system: footers, indexes, dictionaries. Not how much data was read, for Parquet's
    # vectored reads are not in it; but where only the reader works differently, this tells.
    input_bytes: int | None = None
    # Since schema version 9. Of `shuffle_read_bytes` what came from other executors; 0 in local mode.
    shuffle_remote_bytes: int | None = None
    # Since schema version 10. The largest of a task; `peak_memory_bytes` is the sum over all tasks of a stage.
    task_memory_bytes: int | None = None

    def known(self, name: str) -> int:
        """A counter that must be there; who cannot go on without it asks `unknown` first."""
        value = getattr(self, name)
        if value is None:
            raise ValueError(f"{name} is unknown")
        return int(value)

    def unknown(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in names if getattr(self, name) is None)

    @staticmethod
    def names() -> tuple[str, ...]:
        return tuple(f.name for f in fields(Counters))
