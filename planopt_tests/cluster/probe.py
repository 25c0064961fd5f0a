"""One question to a cluster, in a process of its own, answered as JSON.

python -m planopt_tests.cluster.probe QUESTION FOLDER MASTER
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
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
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def opened(folder: Path, master: str) -> dict[str, Any]:
    """How opening a session ends."""
    executors.FIRST_S = 10.0
    started = time.monotonic()
    try:
        session = open_session(_workload(folder, master))
    except PlanoptError as error:
        return {"code": error.code, "words": error.what, "after_s": time.monotonic() - started}
    return {"code": None, "cores": executors.Executors(session).cores}


def python_cpu(folder: Path, master: str) -> dict[str, Any]:
    """The CPU of a query that burns it in Python, beside what executors and planning took."""
    make_tables(folder)
    (folder / "busy.py").write_text(BUSY)
    workspace = Workspace(_workload(folder, master))
    (query,) = workspace.workload.queries
    counters = workspace.execute(query, 0, workspace.baseline, timeout_s=300).counters
    return {"cpu_ns": counters.cpu_ns, "executor_cpu_ns": counters.executor_cpu_ns}


def _workload(folder: Path, master: str) -> Workload:
    folder.joinpath("data").mkdir(exist_ok=True)
    busy = Query("busy", python="busy:build")
    settings = (("spark.driver.memory", "1g"),)
    return workload_of(folder, [busy], master=master, allow_python=True, spark_settings=settings)


if __name__ == "__main__":
    ask = {"opened": opened, "python_cpu": python_cpu}[sys.argv[1]]
    print(json.dumps(ask(Path(sys.argv[2]), sys.argv[3])))
