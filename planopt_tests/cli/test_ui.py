"""`planopt ui` as people start it: in the background of a shell, which ignores SIGINT for its background jobs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from planopt_tests.conftest import make_tables, write_workload_file

pytestmark = pytest.mark.e2e

PLANOPT = str(Path(sys.executable).parent / "planopt")
QUERIES = '  - {id: cities, sql: "SELECT city FROM shops"}'
SHELL = '"$0" ui -w planopt.yaml --port "$1" 2>&1 & echo $!; wait'


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
def test_it_ends_in_the_background_too(tmp_path: Path, sent: signal.Signals) -> None:
    write_workload_file(make_tables(tmp_path, files=1), QUERIES)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {k: v for k, v in os.environ.items() if k != "DAGSTER_HOME"}
    shell = subprocess.Popen(
        ["sh", "-c", SHELL, PLANOPT, str(port)],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert shell.stdout is not None
        pid = int(shell.stdout.readline())
        said = next(line for line in shell.stdout if "Launching Dagster services" in line or "Error" in line)
        assert "Launching" in said
        os.kill(pid, sent)
        rest, _ = shell.communicate(timeout=50)  # the shell waits for it
        assert shell.returncode == 0
        assert "Traceback" not in rest or "KeyboardInterrupt" in rest
    finally:
        if shell.poll() is None:
            os.killpg(shell.pid, signal.SIGKILL)
