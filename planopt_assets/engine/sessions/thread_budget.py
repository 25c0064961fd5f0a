"""One thread budget for all native pools of a process that measures: Spark owns the cores meanwhile."""

from __future__ import annotations

import os

COMPUTE = 1
"""Threads that compute: one, the one that asked."""

WAITING = 4
"""Threads that wait for disk or network; they take no core, and a store elsewhere is read four files at a time."""

BUDGET = {
    "OMP_NUM_THREADS": COMPUTE,  # OpenMP, Arrow's CPU pool, and BLAS and numexpr where theirs is not set
    "OPENBLAS_NUM_THREADS": COMPUTE,
    "MKL_NUM_THREADS": COMPUTE,
    "BLIS_NUM_THREADS": COMPUTE,
    "VECLIB_MAXIMUM_THREADS": COMPUTE,
    "NUMEXPR_NUM_THREADS": COMPUTE,
    "TOKIO_WORKER_THREADS": COMPUTE,  # delta-rs; its threads for files come and go with the reads
    "ARROW_IO_THREADS": WAITING,
}
"""Variable of the environment -> threads. zstd has no pool: planopt compresses in the thread that asks."""


def limit_native_threads() -> None:
    """Set every pool once; a variable that somebody set stays, and a second call changes nothing.

    BLAS and delta-rs read their variable when they start, so `planopt run` calls this before it loads them; where they
    run already (a user's own process), they keep the pools they have. JVM and Python workers inherit the variables.
    """
    os.environ.update(variables())
    import pyarrow as pa  # it loads numpy, which starts BLAS: not before

    pa.set_cpu_count(_asked("OMP_NUM_THREADS"))
    pa.set_io_thread_count(_asked("ARROW_IO_THREADS"))


def variables() -> dict[str, str]:
    """What the environment of a process that measures needs and does not have."""
    return {name: str(threads) for name, threads in BUDGET.items() if name not in os.environ}


def _asked(name: str) -> int:
    """The number a variable has; OpenMP takes a list, one number for each level of nesting, and the first counts."""
    first = os.environ[name].partition(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else BUDGET[name]
