"""Runs whose process was killed: nobody else would tell Dagster, and they would hold the slot of the pool for ever.

Dagster's daemon watches the runs it launched. `planopt run` works without one, and a run that waits for a slot waits
without a word.
"""

from __future__ import annotations

import os
import socket

import dagster as dg
import psutil

PROCESS_TAG = "planopt/process"  # host, process id, and when the process began: ids are used again
_CLOCK_S = 5  # when a process began is reckoned from the machine's clock, which may be set
_UNFINISHED = [s for s in dg.DagsterRunStatus if s.name in ("NOT_STARTED", "STARTING", "STARTED", "CANCELING")]


def this_process() -> str:
    return f"{socket.gethostname()}|{os.getpid()}|{psutil.Process().create_time():.0f}"


def end_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Mark runs of `planopt run` on this machine as failed where their process is gone, and free what they hold."""
    ended = []
    for run in instance.get_runs(dg.RunsFilter(statuses=_UNFINISHED)):
        if is_gone(run.tags.get(PROCESS_TAG, "")):
            instance.report_run_failed(run, "its process was killed; the next run goes on where the stored rows end")
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
            ended.append(run.run_id)
    return ended


def is_gone(process: str) -> bool:
    """Whether a process of this machine has ended; of any other nothing is known."""
    host, _, rest = process.partition("|")
    number, _, born = rest.partition("|")
    if host != socket.gethostname() or not (number.isdecimal() and born.isdecimal()):
        return False
    try:
        return abs(psutil.Process(int(number)).create_time() - int(born)) > _CLOCK_S
    except psutil.NoSuchProcess:
        return True
