"""A driver in a process of its own: for each fault a pass of the loop on a cluster with the fault in it, then one in a
new session.

    python -m planopt_tests.cluster.driver FOLDER CLUSTER FAULT...

Prints what each two passes did as one JSON object.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
import time
import uuid
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from planopt_assets import tuned
from planopt_assets.engine.execution import stragglers
from planopt_assets.engine.execution.leftover_tasks import running_tasks
from planopt_assets.engine.sessions import executors
from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop import trial_runs
from planopt_assets.loop.run import Run
from planopt_assets.model.workload import Knobs, Query, Workload
from planopt_assets.store.codecs.deciding import TRIALS
from planopt_assets.store.codecs.observing import EXECUTIONS
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.fresh_python import findable
from planopt_tests.lenient import LENIENT
from planopt_tests.little_cluster import LittleCluster
from planopt_tests.one_pass import STAGES

FAULTS = ("executor", "straggler", "master", "worker")
"""In an order in which none takes away what the next one needs: only a lost worker is lost for good."""
# Long enough to be hit in the middle: every row meets those of its shop, one in seventeen of them all.
LONG = (
    "SELECT a.shop, count(*) AS n, sum((a.id * b.id) % 97) AS total "
    "FROM sales a JOIN sales b ON a.shop = b.shop GROUP BY a.shop"
)
ROWS = 1_500
USUAL_LEAST_S = stragglers.LEAST_S
# Only results decide, so that no test depends on a clock.
RULES = replace(LENIENT, timeout_floor_s=300.0)


def ran_with(folder: Path, cluster: LittleCluster, *faults: str) -> dict[str, Any]:
    """What happened, by fault. In another process: a session of Spark is one per process."""
    told = json.dumps(asdict(cluster))
    done = subprocess.run(
        [sys.executable, "-m", __name__, str(folder), told, *faults],
        env={**os.environ, **cluster.environment, "PYTHONPATH": findable()},
        capture_output=True,
        text=True,
        check=False,
        timeout=3600,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    # Where an answer is missing, its test says so.
    assert done.returncode == 0 or len(lines) < len(faults), done.stderr[-4000:]
    return {**dict(zip(faults, lines, strict=False)), "stderr": done.stderr[-4000:]}


def main(folder: Path, cluster: LittleCluster, *faults: str) -> None:
    for fault in faults:
        here = folder / fault
        here.mkdir()
        make_tables(here, rows=ROWS)
        # What is lost comes back, be it late on a busy machine; a worker that is lost for good is not waited for.
        executors.BACK_S = 1.0 if fault == "worker" else 300.0
        # A machine that is busy with other things holds up executors too, and only one test is about that.
        stragglers.LEAST_S = USUAL_LEAST_S if fault == "straggler" else math.inf
        faulty = _pass(_workload(here, cluster, "long", LONG), _Fault(fault, cluster))
        if fault == "master":
            cluster.start_master_again()
        stragglers.LEAST_S = math.inf
        # Another query: the verdict on the first one stands for some days.
        after = _pass(_workload(here, cluster, "next", LONG.replace("% 97", "% 89")), None)
        print(json.dumps({"faulty": faulty, "after": after}), flush=True)


def _workload(folder: Path, cluster: LittleCluster, name: str, sql: str) -> Workload:
    query = Query(name, sql=sql, runs_per_day=100_000.0)
    shuffles = Knobs(allow=("spark.sql.shuffle.partitions",))
    settings = {
        "spark.driver.memory": "1g",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.shuffle.partitions": "400",  # so many that fewer are worth a trial, however long the join takes
    }
    return workload_of(
        *(folder, [query]), master=cluster.master, mode="auto", knobs=shuffles, spark_settings=tuple(settings.items())
    )


class _Fault:
    """Happens once, while tasks of the first execution that counts are running. A straggler lasts for the whole run."""

    def __init__(self, name: str, cluster: LittleCluster) -> None:
        assert name in FAULTS
        self._name, self._cluster, self.pending = name, cluster, name != "straggler"

    def for_all(self) -> AbstractContextManager[None]:
        return self._cluster.slowed() if self._name == "straggler" else nullcontext()

    def strike(self, context: Any) -> threading.Thread:
        self.pending = False
        do = {
            "executor": self._cluster.kill_executor,
            "worker": self._cluster.kill_worker,
            "master": self._cluster.kill_master,
        }[self._name]

        def when_tasks_run() -> None:
            while not running_tasks(context):
                time.sleep(0.02)
            do()

        striking = threading.Thread(target=when_tasks_run, daemon=True)
        striking.start()
        return striking


def _pass(workload: Workload, fault: _Fault | None) -> dict[str, Any]:
    run = Run(Workspace(workload), uuid.uuid4().hex, rules=RULES)
    query_id = workload.queries[0].id
    execute = trial_runs.TrialRuns.execute

    def struck(self: Any, *args: Any, warm_up: bool, **named: Any) -> Any:
        if fault is not None and fault.pending and not warm_up:
            fault.strike(run.workspace.spark.sparkContext)
        return execute(self, *args, warm_up=warm_up, **named)

    trial_runs.TrialRuns.execute = struck  # type: ignore[method-assign]
    with ExitStack() as held:
        for stage in STAGES:
            if stage.__name__ == "validate" and fault is not None:
                run.workspace.spark  # noqa: B018 - it has executors then
                held.enter_context(fault.for_all())
            stage(run, [query_id])
            held.close()
    trial_runs.TrialRuns.execute = execute  # type: ignore[method-assign]
    standing = run.standings()[query_id]
    answer = {
        "cores": run.workspace.cores,
        "sessions_lost": run.workspace.sessions_lost,
        "trials": [
            {"status": t.status, "error": t.error, "warm_up": t.warm_up}
            for t in run.snapshot.read(TRIALS)
            if t.id.startswith(f"tri-{run.run_id[:12]}")
        ],
        "verdicts": [
            {"outcome": v.outcome, "reason": v.judgement.reason, "pairs": v.judgement.pairs} for v in standing.verdicts
        ],
        "generations": len(standing.chain),
    }
    if standing.active is not None:
        answer["tuned"] = _tuned(run.workspace.spark, workload, query_id)
        answer["in_force"] = standing.active.policy.id
    run.workspace.spark.stop()
    return answer


def _tuned(spark: Any, workload: Workload, query_id: str) -> dict[str, Any]:
    """The query in a user's own job, and the record that it leaves."""
    with tuned(spark.newSession(), query_id, workload, timeout_s=60) as query:
        rows, policy = query.sql().collect(), query.policy.id
    recorded = Snapshot(workload.store, workload.name).read(EXECUTIONS, purpose="production", query_id=query_id)
    return {"rows": len(rows), "policy": policy, "recorded": [(e.policy_id, e.cores) for e in recorded]}


if __name__ == "__main__":
    main(Path(sys.argv[1]), LittleCluster(**json.loads(sys.argv[2])), *sys.argv[3:])
