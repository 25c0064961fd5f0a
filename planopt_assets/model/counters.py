"""What one execution cost."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Counters:
    """Counters of exactly one execution; planning is kept apart and times are nanoseconds.

    `cpu_ns` is what the user pays: the driver process and all executors, planning included.
    Executor CPU alone hides broadcasts that are built on the driver, so it is never judged on its own.
    """

    wall_ns: int
    cpu_ns: int
    planning_wall_ns: int
    planning_cpu_ns: int
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
    scan_files: int
    scan_bytes: int
    shuffle_write_bytes: int
    shuffle_write_rows: int
    shuffle_read_bytes: int
    fetch_wait_ns: int
    memory_spill_bytes: int
    disk_spill_bytes: int
    peak_memory_bytes: int
    result_rows: int

    @staticmethod
    def names() -> tuple[str, ...]:
        return tuple(f.name for f in fields(Counters))
