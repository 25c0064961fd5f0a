"""The cost model of a query. Its measured CPU is the whole; the prices only share it out.

The prices say how the stages of one query compare with each other. They are the low end of what was measured with
Spark 4.2 on local disk, here and in the rules, so that no gain is promised too high. Once the store holds enough
executions, prices fitted to those take their place (`price_fit.py`).

The measured CPU is that of the stored execution that the evidence is made of: the same rows give the same decision. Of
a short one only an upper bound is believed, the model with dear rows: beside other work it can cost twice its usual
CPU, and whether a change is worth a trial would be chance.
"""

from __future__ import annotations

from dataclasses import replace

from planopt_assets.model.cost_model import GIVEN, Prices
from planopt_assets.model.evidence import Evidence, ObservedExecution
from planopt_assets.model.signals import Stage
from planopt_assets.model.work_units import PlanSignals, Units, stage_units

# The given prices, for what does not belong to one query in one environment.
CPU_PER_FILE_NS, CPU_PER_TASK_NS, CPU_PER_QUERY_NS = GIVEN.file_ns, GIVEN.task_ns, GIVEN.query_ns
CPU_PER_ROW_NS = 1_000
"""A row in the rules about scans. Dear, as all else is: only its share in the query counts (`scan_dearness`)."""
SCANNED = replace(
    GIVEN,
    row_ns=CPU_PER_ROW_NS,
    shuffled_row_ns=CPU_PER_ROW_NS,
    decoded_kib_ns=0,
    joined_row_ns=0,
    grouped_row_ns=0,
)
STEADY_CPU_NS = 5_000_000_000  # from here on a busy machine or a cold JVM hardly counts
PRICED = ("input_rows", "scan_files", "tasks")  # counters that must be known


def stage_cpu_ns(stage: Stage, shown: PlanSignals, prices: Prices = GIVEN) -> int:
    """Modelled CPU of one stage, with what its operators do.

    Worked: 12 tasks read 765,000 rows of 16 bytes from 201 files and write into 200 partitions:
    0.015 + 0.012 + 0.402 + 0.060 + 12 x 200 x 0.2 ms = 0.969 s.
    """
    return prices.of(stage_units(stage, shown))


def stages_cpu_ns(execution: ObservedExecution, prices: Prices = GIVEN) -> dict[int, int]:
    """Modelled CPU of each stage of an execution, by its number."""
    return {stage.index: stage_cpu_ns(stage, execution, prices) for stage in execution.stages}


def execution_cpu_ns(execution: ObservedExecution, prices: Prices = GIVEN) -> int:
    """CPU of one execution: as measured, of a short one at most what it takes with dear rows. Unmeasured: as modelled.

    Worked: 1,800 rows in 6 files and 404 blocks take 0.21 s with rows at 1 us. Measured were 0.23 s alone, and 0.5 s
    beside other work: 0.21 s both times.
    """
    measured = execution.counters.cpu_ns
    if not measured:
        return modelled_execution_cpu_ns(execution, prices)
    most = modelled_execution_cpu_ns(execution, SCANNED)
    return most if most < measured < STEADY_CPU_NS else measured


def dearness(execution: ObservedExecution, prices: Prices = GIVEN) -> float:
    """What an execution cost, as a share of its modelled cost.

    Worked: modelled at 1.4 s, measured 0.7 s: 0.5. Modelled at 0.4 s, measured 1.2 s: 3.
    """
    return execution_cpu_ns(execution, prices) / modelled_execution_cpu_ns(execution, prices)


def scan_dearness(evidence: Evidence) -> float:
    """What the query cost, as a share of its cost at the prices of the rules about scans (`CPU_PER_ROW_NS`).

    Worked: 6,000,000 rows at 1 µs and 120 files at 2 ms are 6.34 s with start. Measured are 0.7 s: 0.11. Never above 1:
    joins are what makes a query dear.
    """
    asked = replace(evidence, prices=SCANNED)
    return min(1.0, query_cpu_ns(asked) / modelled_cpu_ns(asked))


def modelled_execution_cpu_ns(execution: ObservedExecution, prices: Prices = GIVEN) -> int:
    """Modelled CPU of one execution: from its stages if known, else from its total rows, files and tasks.

    Worked, without stages: 765,000 rows, 201 files, 17 tasks: 0.1 + 0.015 + 0.402 + 0.085 = 0.602 s.
    """
    if execution.stages:
        return prices.query_ns + sum(stages_cpu_ns(execution, prices).values())
    told = execution.counters
    units = Units(rows=told.input_rows, files=told.known("scan_files"), tasks=told.tasks)
    return prices.query_ns + prices.of(units)


def modelled_cpu_ns(evidence: Evidence) -> int:
    """Modelled CPU of one run of the query, with all its bindings."""
    return sum(modelled_execution_cpu_ns(e, evidence.prices) for e in evidence.executions)


def query_cpu_ns(evidence: Evidence) -> int:
    """CPU of one run of the query, with all its bindings: as measured where that is known."""
    return sum(execution_cpu_ns(e, evidence.prices) for e in evidence.executions)
