"""A run that was killed must not block the next one: its slot is freed, and Dagster is told."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import dagster as dg
import psutil
import pytest

from planopt_assets.defs import names
from planopt_assets.defs.dead_runs import PROCESS_TAG, end_dead_runs, is_gone, this_process
from planopt_tests.fresh_python import ROOT

pytestmark = pytest.mark.fast

JOB = """
import os, sys
import dagster as dg
from planopt_assets.defs import names
from planopt_assets.defs.dead_runs import PROCESS_TAG, this_process

@dg.op(pool=names.POOL)
def dies() -> None:
    os._exit(70)

@dg.job(executor_def=dg.in_process_executor)
def loop() -> None:
    dies()

for home in sys.argv[1:]:
    process = os.fork()
    if process == 0:
        with dg.DagsterInstance.from_config(home) as instance:
            tags = {PROCESS_TAG: this_process()} if home.endswith("/told") else {}
            loop.execute_in_process(instance=instance, tags=tags)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two homes of Dagster, each with a run whose process was killed: in `told` the run says which one it was."""
    folder = tmp_path_factory.mktemp("homes")
    homes = [folder / "told", folder / "untold"]
    for home in homes:
        home.mkdir()
        shutil.copy(ROOT / "dagster.yaml", home / "dagster.yaml")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DAGSTER_DISABLE_TELEMETRY": "1"}
    command = [sys.executable, "-W", "ignore", "-c", JOB, *map(str, homes)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["70", "70"], done.stderr
    return folder


def holders(instance: dg.DagsterInstance) -> set[str]:
    return instance.event_log_storage.get_concurrency_info(names.POOL).active_run_ids


def test_a_killed_run_is_ended_and_gives_its_slot_back(killed: Path) -> None:
    with dg.DagsterInstance.from_config(str(killed / "told")) as instance:
        (run,) = instance.get_runs()
        assert holders(instance) == {run.run_id}
        assert end_dead_runs(instance) == [run.run_id]
        assert holders(instance) == set()
        found = instance.get_run_by_id(run.run_id)
        assert found is not None
        assert found.status == dg.DagsterRunStatus.FAILURE
        assert end_dead_runs(instance) == []


def test_a_run_that_somebody_else_launched_is_left_to_them(killed: Path) -> None:
    with dg.DagsterInstance.from_config(str(killed / "untold")) as instance:
        (run,) = instance.get_runs()
        assert end_dead_runs(instance) == []
        assert holders(instance) == {run.run_id}


def test_a_process_is_gone_when_it_ended_or_its_number_belongs_to_another_now() -> None:
    host, number, born = this_process().split("|")
    unused = max(psutil.pids()) + 100_000
    assert not is_gone(this_process())
    assert is_gone(f"{host}|{number}|{int(born) - 60}")
    assert is_gone(f"{host}|{unused}|{born}")


@pytest.mark.parametrize("process", ["", "elsewhere|1|0", "nonsense"])
def test_of_other_machines_nothing_is_known(process: str) -> None:
    assert not is_gone(process)


def test_a_run_says_which_process_it_is() -> None:
    assert PROCESS_TAG == "planopt/process"
    assert this_process().split("|")[1] == str(os.getpid())
