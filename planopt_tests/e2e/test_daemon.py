"""A real `dagster-daemon` with the sensors on: it takes back what got worse, tells it once, and follows a commit.

The store is that of a finished pass: `by_shop` has a policy in force, proven by trials. Runs of the user's job that
shuffled far more than the trials did are planted in the store. Then a commit is made to the table it reads.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import dagster as dg
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.defs.instance import dagster_home
from planopt_assets.loop.run import read_standings
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.workload import Workload
from planopt_assets.store.codecs.observing import EXECUTIONS
from planopt_assets.store.snapshot import Snapshot
from planopt_assets.store.store import Store
from planopt_assets.workload import load_workload
from planopt_tests.alert.servers import Hook
from planopt_tests.conftest import write_workload_file
from planopt_tests.defs.observed import observe_without_spark
from planopt_tests.no_spark import no_spark
from planopt_tests.one_pass import OnePass

pytestmark = pytest.mark.e2e

QUERIES = """\
  - {id: by_shop, sql: "SELECT shop, count(*) AS n FROM sales GROUP BY shop", runs_per_day: 1000}
  - {id: cities, sql: "SELECT city FROM shops"}"""
MODULE = ["-m", "planopt_assets.definitions"]
T = TypeVar("T")


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook().serving() as serving:
        yield serving


@pytest.fixture
def workload(one_pass: OnePass, hook: Hook, tmp_path: Path) -> Workload:
    one_pass.copied(tmp_path, after="promote")
    extra = f"automation: {{every: 2, settle: 1, interval: 5}}\nalerts: [{{kind: webhook, url: '{hook.url}'}}]\n"
    found = load_workload(write_workload_file(tmp_path, QUERIES, extra=extra))
    observe_without_spark(found, ["cities"], "run-cities")
    return found


@contextmanager
def daemon(workload: Workload) -> Iterator[Path]:
    """`dagster-daemon` over this workload, with all sensors switched on; the folder is Dagster's."""
    home = dagster_home(workload).resolve()
    environment = {**os.environ, "DAGSTER_HOME": str(home), "PLANOPT_WORKLOAD": str(workload.file)}
    environment["DAGSTER_DISABLE_TELEMETRY"] = "1"
    tools = Path(sys.executable).parent
    start = [tools / "dagster", "sensor", "start", "--start-all", *MODULE]
    subprocess.run(start, env=environment, check=True, capture_output=True, cwd=home)
    with (
        (home / "daemon.log").open("wb") as log,
        subprocess.Popen(
            [tools / "dagster-daemon", "run", *MODULE],
            env=environment,
            cwd=home,
            stdout=log,
            stderr=log,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield home
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


def eventually(home: Path, what: Callable[[], T]) -> T:
    """What is found once there is something; the daemon's log, if that takes too long."""
    until = time.monotonic() + 420
    while time.monotonic() < until:
        if found := what():
            return found
        time.sleep(1)
    raise AssertionError((home / "daemon.log").read_text()[-5000:])


def plant_a_regression(workload: Workload) -> None:
    """Three runs of the user's job under the policy in force that shuffled a gigabyte for the same rows."""
    active = read_standings(workload)["by_shop"].active
    assert active is not None
    trial = next(
        e
        for e in Snapshot(workload.store, workload.name).read(EXECUTIONS, query_id="by_shop", purpose="trial")
        if e.policy_id == active.policy.id
    )
    dear = replace(trial.counters, shuffle_write_bytes=2**30)
    run = replace(trial, source="production", action="frame", status="ok", counters=dear)
    planted = [replace(run, id=f"exe-planted-{n}") for n in range(3)]
    Store(workload.store, workload.name, no_spark).append("run-planted", "production", {EXECUTIONS: planted})
    assert read_standings(workload)["by_shop"].due is not None


def finished(instance: dg.DagsterInstance, job: str) -> list[list[str]]:
    """The queries of each run of a job that succeeded."""
    runs = instance.get_runs(dg.RunsFilter(job_name=job, statuses=[dg.DagsterRunStatus.SUCCESS]))
    return [list(op["config"]["queries"]) for run in runs for op in run.run_config["ops"].values()]


def test_the_daemon_takes_back_what_got_worse_tells_it_and_follows_a_commit(workload: Workload, hook: Hook) -> None:
    plant_a_regression(workload)
    with daemon(workload) as home, dg.DagsterInstance.from_config(str(home)) as instance:
        eventually(home, lambda: finished(instance, "take_back"))
        eventually(home, lambda: hook.bodies)
        now = read_standings(workload)["by_shop"].active
        assert now is not None
        assert (now.state, now.policy, now.generation) == ("reverted", ORIGINAL, 2)
        assert any(row.startswith("exe-planted") for row in now.evidence_ids)
        assert finished(instance, "take_back") == [["by_shop"]]

        rows = pa.table({"id": [9000], "shop": [3], "amount": [1.5], "note": ["n"]})
        write_deltalake(workload.file.parent / "data/sales", rows, mode="append")
        eventually(home, lambda: finished(instance, "optimize_selected"))
        assert finished(instance, "optimize_selected") == [["by_shop"]]
        assert read_standings(workload)["by_shop"].observed
        table = instance.get_latest_data_version_record(dg.AssetKey(["tables", "sales"]))
        assert table is not None
    told = [(body["event"], body["incident"]) for body in hook.bodies if body["event"] == "opened"]
    assert told == [("opened", "regression/by_shop/g1")]
