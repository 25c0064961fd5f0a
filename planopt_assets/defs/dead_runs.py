"""Ends runs whose process was killed. Otherwise they would hold the slot of the pool for ever.

Dagster's daemon monitors only the runs it launched. `planopt run` works without a daemon, and a run that waits for a
slot waits silently.
"""

from __future__ import annotations

import os
import socket

import dagster as dg
import psutil

PROCESS_TAG = "planopt/process"  # host, process id, start time (process ids are reused)
_CLOCK_S = 5  # tolerance of the start time: it depends on the machine's clock, which may be adjusted
_UNFINISHED = [s for s in dg.DagsterRunStatus if s.name in ("NOT_STARTED", "STARTING", "STARTED", "CANCELING")]


def this_process() -> str:
    return f"{socket.gethostname()}|{os.getpid()}|{psutil.Process().create_time():.0f}"


def end_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Mark runs of `planopt run` on this machine as failed if their process is gone, and free their slots."""
    ended = []
    for run in instance.get_runs(dg.RunsFilter(statuses=_UNFINISHED)):
        if is_gone(run.tags.get(PROCESS_TAG, "")):
            instance.report_run_failed(run, "its process was killed; the next run continues from the stored rows")
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
            ended.append(run.run_id)
    return ended


def is_gone(process: str) -> bool:
    """Whether a process of this machine has ended. False for other machines, because that is unknown."""
    host, _, rest = process.partition("|")
    number, _, born = rest.partition("|")
    if host != socket.gethostname() or not (number.isdecimal() and born.isdecimal()):
        return False
    try:
        return abs(psutil.Process(int(number)).create_time() - int(born)) > _CLOCK_S
    except psutil.NoSuchProcess:
        return True
