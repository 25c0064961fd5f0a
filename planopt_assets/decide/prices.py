"""The cost model of a query. Its measured CPU is the whole; the prices only share it out.

Prices alone are off by several times: a row through a vectorised scan costs a tenth of a row through a join. So they
say how the stages of one query compare with each other. They are the low end of what was measured with Spark 4.2 on
local disk, here and in the rules, so that no gain is promised too high. Once the store holds enough executions, prices
fitted to those take their place (`price_fit.py`).

The measured CPU is that of the stored execution that the evidence is made of: the same rows give the same decision. Of
a short execution only an upper bound is believed: on a cold JVM it can cost several times its usual CPU, never less.
"""

from __future__ import annotations

from dataclasses import replace

from planopt_assets.model.cost_model import GIVEN, Prices
from planopt_assets.model.evidence import Evidence, ObservedExecution
from planopt_assets.model.signals import Stage

# The given prices, for what does not belong to one query in one environment.
CPU_PER_ROW_NS, CPU_PER_FILE_NS, CPU_PER_TASK_NS = GIVEN.row_ns, GIVEN.file_ns, GIVEN.task_ns
CPU_PER_QUERY_NS = GIVEN.query_ns
PRICED = ("input_rows", "scan_files", "tasks")  # counters that must be known
WARM_CPU_NS = 5_000_000_000  # from here on class loading and compilation hardly count


def stage_cpu_ns(stage: Stage, prices: Prices = GIVEN) -> int:
    """Modelled CPU of one stage.

    Worked: 12 tasks read 765,000 rows from 201 files and write into 200 partitions:
    0.765 + 0.402 + 0.060 + 12 x 200 x 0.2 ms = 1.707 s.
    """
    blocks = stage.tasks * stage.shuffle_partitions
    return prices.of(rows=stage.rows, files=stage.files, tasks=stage.tasks, blocks=blocks)


def execution_cpu_ns(execution: ObservedExecution, prices: Prices = GIVEN) -> int:
    """CPU of one execution: as measured. As modelled where nobody measured, or where compilation may be most of it."""
    modelled, measured = modelled_execution_cpu_ns(execution, prices), execution.counters.cpu_ns
    if not measured or (modelled < measured < WARM_CPU_NS):
        return modelled
    return measured


def dearness(execution: ObservedExecution, prices: Prices = GIVEN) -> float:
    """What an execution cost, as a share of its modelled cost.

    Worked: modelled at 6.4 s, measured 0.7 s: 0.11. Its rows only go through a vectorised scan. Modelled at 0.4 s,
    measured 1.9 s: 1, because the JVM may have been cold.
    """
    return execution_cpu_ns(execution, prices) / modelled_execution_cpu_ns(execution, prices)


def scan_dearness(evidence: Evidence) -> float:
    """The same for what scans read, over all bindings and at the given prices, as rules have them.

    Never above 1: joins are what makes a query dear.
    """
    given = replace(evidence, prices=GIVEN)
    return min(1.0, query_cpu_ns(given) / modelled_cpu_ns(given))


def modelled_execution_cpu_ns(execution: ObservedExecution, prices: Prices = GIVEN) -> int:
    """Modelled CPU of one execution: from its stages if known, else from its total rows, files and tasks.

    Worked, without stages: 765,000 rows, 201 files, 17 tasks: 0.1 + 0.765 + 0.402 + 0.085 = 1.35 s.
    """
    if execution.stages:
        return prices.query_ns + sum(stage_cpu_ns(stage, prices) for stage in execution.stages)
    told = execution.counters
    return prices.query_ns + prices.of(rows=told.input_rows, files=told.known("scan_files"), tasks=told.tasks, blocks=0)


def modelled_cpu_ns(evidence: Evidence) -> int:
    """Modelled CPU of one run of the query, with all its bindings."""
    return sum(modelled_execution_cpu_ns(e, evidence.prices) for e in evidence.executions)


def query_cpu_ns(evidence: Evidence) -> int:
    """CPU of one run of the query, with all its bindings: as measured where that is known."""
    return sum(execution_cpu_ns(e, evidence.prices) for e in evidence.executions)
