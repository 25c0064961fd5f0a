"""One question to a cluster, in a process of its own, answered as JSON.

python -m planopt_tests.cluster.probe QUESTION FOLDER MASTER
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from planopt_assets.engine.sessions import executors
from planopt_assets.engine.sessions.session import open_session
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import PlanoptError
from planopt_assets.model.workload import Query, Workload
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.fresh_python import findable
from planopt_tests.little_cluster import HOST

BURNED_S = 0.5  # by every task of the Python function

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


def answer_of(question: str, folder: Path, master: str, **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", __name__, question, str(folder), master],
        env={**os.environ, "SPARK_LOCAL_IP": HOST, "PYTHONPATH": findable(), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def opened(folder: Path, master: str, *, first_s: float = 600.0) -> dict[str, Any]:
    """How opening a session ends."""
    executors.FIRST_S = first_s
    try:
        session = open_session(_workload(folder, master))
    except PlanoptError as error:
        return {"code": error.code, "words": error.what}
    return {"code": None, "cores": executors.Executors(session).cores}


def counters(folder: Path, master: str) -> dict[str, Any]:
    """Of a query that burns CPU in Python, after a shuffle between two executors."""
    make_tables(folder)
    (folder / "busy.py").write_text(BUSY)
    workspace = Workspace(_workload(folder, master))
    (query,) = workspace.workload.queries
    return asdict(workspace.execute(query, 0, workspace.baseline, timeout_s=1200).counters)


def _workload(folder: Path, master: str) -> Workload:
    folder.joinpath("data").mkdir(exist_ok=True)
    busy = Query("busy", python="busy:build")
    settings = (("spark.driver.memory", "1g"),)
    return workload_of(folder, [busy], master=master, allow_python=True, spark_settings=settings)


if __name__ == "__main__":
    questions = {"opened": opened, "opened in 10 s": partial(opened, first_s=10.0), "counters": counters}
    ask = questions[sys.argv[1]]
    print(json.dumps(ask(Path(sys.argv[2]), sys.argv[3])))
