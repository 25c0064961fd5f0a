"""Questions to a cluster, in a process of its own: a process has one Spark session at a time.

    python -m planopt_tests.cluster.probe FOLDER MASTER QUESTION...

Prints one line of JSON for each question, in their order.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from planopt_assets.engine.sessions import executors
from planopt_assets.engine.sessions.session import open_session
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import PlanoptError
from planopt_assets.loop.agenda import agenda_of
from planopt_assets.loop.run import Run
from planopt_assets.loop.run_cost import executors_held, run_cost
from planopt_assets.model.automation import TrialWindow
from planopt_assets.model.workload import Budgets, Query, Workload
from planopt_assets.store.codecs.deciding import TRIALS
from planopt_assets.store.codecs.observing import DETAILS
from planopt_tests.cluster.driver import RULES
from planopt_tests.conftest import SETTINGS, make_tables, workload_of
from planopt_tests.fresh_python import findable
from planopt_tests.little_cluster import HOST
from planopt_tests.one_pass import BY_SHOP, STAGES

PATIENCE_S = 1800.0  # only to end a hang
BURNED_S = 0.5  # by every task of the Python function
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
AT_NIGHT = TrialWindow(22, 6)
MISSING_PYTHON = "/nonexistent/python"
NOBODY = f"spark://{HOST}:9"

BUSY = f'''
"""A query with a Python function that keeps a processor busy."""

def build(spark):
    import time

    from pyspark.sql import functions as F

    def burn(ids):
        until = time.process_time() + {BURNED_S}
        while time.process_time() < until:
            pass
        return ids

    burned = F.pandas_udf(burn, "long")
    return spark.table("sales").repartition(2, "id").select(burned("id").alias("id"))
'''

# Another Python on the executors, as far as they can tell.
OTHER_PYTHON = """
import collections, sys
fields = ("major", "minor", "micro", "releaselevel", "serial")
sys.version_info = collections.namedtuple("version_info", fields)(3, 99, 0, "final", 0)
"""

# Executors of one machine would read each other's files, and prefer their own: here they send each other what is asked.
APART = {"spark.shuffle.readHostLocalDisk": "false", "spark.locality.wait": "0s"}


class Probe:
    """A process that answers these questions, while the one that asks does something else."""

    def __init__(self, folder: Path, master: str, *questions: str) -> None:
        self._questions = questions
        self._running = subprocess.Popen(
            [sys.executable, "-m", __name__, str(folder), master, *questions],
            env={**os.environ, "SPARK_LOCAL_IP": HOST, "PYTHONPATH": findable()},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def answers(self) -> dict[str, Any]:
        """By question. Those after one that failed are missing; what it said is in `stderr`."""
        try:
            told, said = self._running.communicate(timeout=PATIENCE_S)
        finally:
            self._running.kill()
        lines = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
        return {**dict(zip(self._questions, lines, strict=False)), "stderr": said[-4000:]}


def another_python(folder: Path, master: str) -> dict[str, Any]:
    (folder / "sitecustomize.py").write_text(OTHER_PYTHON)
    fake = folder / "python"
    fake.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}:$PYTHONPATH" exec {sys.executable} "$@"\n')
    fake.chmod(0o755)
    return _opened(_workload(folder, master), python=str(fake))


def no_python(folder: Path, master: str) -> dict[str, Any]:
    return _opened(_workload(folder, master), python=MISSING_PYTHON)


def no_memory(folder: Path, master: str) -> dict[str, Any]:
    """More for an executor than any worker has."""
    executors.FIRST_S, usual = 3.0, executors.FIRST_S
    try:
        return _opened(_workload(folder, master, {"spark.executor.memory": "2g"}))
    finally:
        executors.FIRST_S = usual


def no_master(folder: Path, master: str) -> dict[str, Any]:
    return _opened(_workload(folder, NOBODY))


def same_versions(folder: Path, master: str) -> dict[str, Any]:
    """The session stays, and the questions after this one use it."""
    return _opened(_workload(folder, master))


def counters(folder: Path, master: str) -> dict[str, Any]:
    """Of a query that burns CPU in Python, after a shuffle between two executors."""
    workspace = Workspace(_workload(folder, master))
    (query,) = workspace.workload.queries
    return asdict(workspace.execute(query, 0, workspace.baseline, timeout_s=PATIENCE_S).counters)


def cost_limits(folder: Path, master: str) -> dict[str, Any]:
    """The loop with limits in executor-seconds: one that allows nothing, outside its hours, and one that is enough."""
    at_noon = replace(_loop(folder, master, 600.0), trial_window=AT_NIGHT)
    return {
        "outside": _pass(at_noon, lambda: NOON),
        "too little": _pass(_loop(folder, master, 0.002)),
        "enough": _pass(_loop(folder, master, 3600.0)),
    }


def one_pass(folder: Path, master: str) -> dict[str, Any]:
    """One pass of the loop, with what it stored and what was in force."""
    store = str(folder / f"store-of-{master.partition(':')[0].partition('[')[0]}")
    workload = replace(_workload(folder, master), queries=(BY_SHOP,), mode="auto", store=store)
    run = Run(Workspace(workload), uuid.uuid4().hex, rules=RULES, by_hand=True)  # one round
    for stage in STAGES:
        stage(run, [BY_SHOP.id])
    standing = run.standings()[BY_SHOP.id]
    digests = [asdict(d.digest) for d in run.snapshot.read(DETAILS, query_id=BY_SHOP.id) if d.digest]
    return {"store": store, "verdicts": [(v.policy.id, v.outcome) for v in standing.verdicts], "digests": digests}


def dagster_loop(folder: Path, master: str) -> dict[str, Any]:
    from planopt_tests.cluster.dagster_job import ran_in_dagster

    return ran_in_dagster(folder, master, dict(_workload(folder, master).spark_settings))


def _pass(workload: Workload, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> dict[str, Any]:
    """All stages, and what `planopt plan` says before trials."""
    run = Run(Workspace(workload), uuid.uuid4().hex, rules=RULES, now=now)
    told = {}
    for stage in STAGES:
        if stage.__name__ == "validate":
            held = executors_held(workload, run.snapshot, run.standings())
            planned = agenda_of(workload, run.snapshot, run.standings(), [BY_SHOP.id])
            told = run_cost(workload, planned, held, now()).facts()
            allowed_s = run.deadline - run.workspace.started_at
        (result,) = stage(run, [BY_SHOP.id])
        if stage.__name__ == "validate":
            tried = result.summary
    standing = run.standings()[BY_SHOP.id]
    mine = f"tri-{run.run_id[:12]}"
    return {
        "plan": told,
        "run_s": allowed_s,
        "tried": tried,
        "trials": len([t for t in run.snapshot.read(TRIALS) if t.id.startswith(mine)]),
        "verdicts": [(v.outcome, v.judgement.reason) for v in standing.verdicts],
        "generations": len(standing.chain),
    }


def _loop(folder: Path, master: str, executor_seconds: float) -> Workload:
    """Of one query, with the same wall seconds whatever the executors may take."""
    budgets = Budgets(
        explore=0.0,
        per_candidate=PATIENCE_S,
        per_query=PATIENCE_S,
        per_run=PATIENCE_S,
        executor_seconds_per_query=executor_seconds,
        executor_seconds_per_run=1200.0,
    )
    store = str(folder / f"store-{executor_seconds}")
    return replace(_workload(folder, master), queries=(BY_SHOP,), budgets=budgets, mode="auto", store=store)


def _opened(workload: Workload, *, python: str = sys.executable) -> dict[str, Any]:
    """How opening a session ends."""
    os.environ["PYSPARK_PYTHON"] = python
    try:
        session = open_session(workload)
    except PlanoptError as error:
        return {"code": error.code, "words": error.what, "where": error.where}
    finally:
        del os.environ["PYSPARK_PYTHON"]
    return {"code": None, "cores": executors.Executors(session).cores}


def _workload(folder: Path, master: str, more: dict[str, str] | None = None) -> Workload:
    busy = Query("busy", python="busy:build")
    settings = tuple(sorted({**SETTINGS, **APART, **(more or {})}.items()))
    return workload_of(folder, [busy], master=master, allow_python=True, spark_settings=settings)


QUESTIONS = (
    *(another_python, no_python, no_memory, no_master, same_versions),
    *(counters, cost_limits, dagster_loop, one_pass),
)


def main(folder: Path, master: str, *questions: str) -> None:
    if not (folder / "data").exists():  # what was asked before has read them
        make_tables(folder)
    (folder / "busy.py").write_text(BUSY)
    known = {question.__name__: question for question in QUESTIONS}
    for question in questions:
        print(json.dumps(known[question](folder, master)), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
