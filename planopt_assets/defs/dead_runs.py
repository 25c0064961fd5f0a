"""Ends runs whose process was killed. Otherwise they would hold the slot of the pool for ever.

Dagster's daemon knows nothing of the process of a run that its default launcher started: after a restart of the machine
the run counts as started for ever, its sensor waits for it, and so does every run that wants the slot. So each run says
which process it is, and sensors, schedules, `planopt run` and `upkeep` look.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

import dagster as dg
import psutil

PROCESS_TAG = "planopt/process"  # host, process id, start time (process ids are reused)
_ONE_PROCESS = ("in_process", "execute_in_process_executor")  # executors
_CLOCK_S = 5  # tolerance of the start time: it depends on the machine's clock, which may be adjusted
_UNFINISHED = [s for s in dg.DagsterRunStatus if s.name in ("NOT_STARTED", "STARTING", "STARTED", "CANCELING")]


def this_process() -> str:
    return f"{_host()}|{os.getpid()}|{psutil.Process().create_time():.0f}"


def note_process(context: dg.OpExecutionContext | dg.AssetExecutionContext) -> None:
    """The run says which process it is. With another executor each step has its own, and none is that of the run."""
    if context.job_def.executor_def.name in _ONE_PROCESS:
        context.instance.add_run_tags(context.run.run_id, {PROCESS_TAG: this_process()})


def end_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Mark runs on this machine as failed if their process is gone, and free their slots."""
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
    if host != _host() or not (number.isdecimal() and born.isdecimal()):
        return False
    try:
        return abs(psutil.Process(int(number)).create_time() - int(born)) > _CLOCK_S
    except psutil.NoSuchProcess:
        return True


def _host() -> str:
    """The machine, and on Linux its space of process ids: two containers may have the same name."""
    try:
        return f"{socket.gethostname()}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return socket.gethostname()
