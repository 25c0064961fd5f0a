"""The cost model of a query: CPU from deterministic counters, never from a clock.

One run on a cold or busy machine can cost several times its usual CPU, but the same inputs must give the same decision.
All prices, here and in the rules, are the low end of what was measured with Spark 4.2 on local disk. So a saving and
the cost of the query can be compared.
"""

from __future__ import annotations

from planopt_assets.model.evidence import Evidence, ObservedExecution
from planopt_assets.model.signals import Stage

CPU_PER_ROW_NS = 1_000  # reading one row and doing a little with it
CPU_PER_FILE_NS = 2_000_000  # opening one file and reading its footer
CPU_PER_TASK_NS = 5_000_000
# Each map task of a shuffle writes one block per partition, empty or not. Measured: 0.4-0.7 ms on local disk, halved.
CPU_PER_BLOCK_NS = 200_000
PRICED = ("input_rows", "scan_files", "tasks")  # counters that must be known
CPU_PER_QUERY_NS = 100_000_000  # planning and start, which no policy saves


def stage_cpu_ns(stage: Stage) -> int:
    """Modelled CPU of one stage.

    Worked: 12 tasks read 765,000 rows from 201 files and write into 200 partitions:
    0.765 + 0.402 + 0.060 + 12 x 200 x 0.2 ms = 1.707 s.
    """
    return (
        stage.rows * CPU_PER_ROW_NS
        + stage.files * CPU_PER_FILE_NS
        + stage.tasks * CPU_PER_TASK_NS
        + stage.tasks * stage.shuffle_partitions * CPU_PER_BLOCK_NS
    )


def execution_cpu_ns(execution: ObservedExecution) -> int:
    """Modelled CPU of one execution: from its stages if known, else from its total rows, files and tasks.

    Worked, without stages: 765,000 rows, 201 files, 17 tasks: 0.1 + 0.765 + 0.402 + 0.085 = 1.35 s.
    """
    if execution.stages:
        return CPU_PER_QUERY_NS + sum(map(stage_cpu_ns, execution.stages))
    counters = execution.counters
    return (
        CPU_PER_QUERY_NS
        + counters.input_rows * CPU_PER_ROW_NS
        + counters.known("scan_files") * CPU_PER_FILE_NS
        + counters.tasks * CPU_PER_TASK_NS
    )


def modelled_cpu_ns(evidence: Evidence) -> int:
    """Modelled CPU of one run of the query, with all its bindings."""
    return sum(map(execution_cpu_ns, evidence.executions))
