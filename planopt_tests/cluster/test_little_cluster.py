"""The cluster of the other tests: nothing of it outlives whoever started it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from planopt_tests.fresh_python import findable

pytestmark = pytest.mark.e2e

# Says which processes there are, and then does nothing until it is killed.
HOLDER = """
import sys
from planopt_tests.little_cluster import little_cluster
with little_cluster(workers=1) as cluster:
    print(cluster.master_pid, *cluster.worker_pids, flush=True)
    sys.stdin.read()
"""


def test_a_command_beside_a_cluster_is_told_its_address_and_its_exit_code_is_kept(tmp_path: Path) -> None:
    told = tmp_path / "address"
    command = ["sh", "-c", 'printf "%s %s" "$0" "$SPARK_LOCAL_IP" > "$1"; exit 3', "{master}", str(told)]
    done = subprocess.run(
        [sys.executable, "-m", "planopt_tests.little_cluster", *command],
        env={**os.environ, "PYTHONPATH": findable()},
        check=False,
    )
    assert done.returncode == 3
    address, _, here = told.read_text().partition(" ")
    assert re.fullmatch(r"spark://127\.0\.0\.1:\d+", address)
    assert here == "127.0.0.1"


def test_a_cluster_ends_with_a_process_that_is_killed() -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": findable()},
    )
    with holder:
        assert holder.stdout is not None
        pids = [int(pid) for pid in holder.stdout.readline().split()]
        assert len(pids) == 2
        holder.send_signal(signal.SIGKILL)
    give_up = time.monotonic() + 60
    while any(psutil.pid_exists(pid) for pid in pids):
        assert time.monotonic() < give_up, "the cluster outlived the process that started it"
        time.sleep(0.1)
