"""A Spark standalone cluster on loopback, of the installed PySpark: a master, and workers with one core each.

Tests use `little_cluster()`. People use `make demo-cluster`, or start any command with it, where `{master}` stands for
the cluster's address:

    python -m planopt_tests.little_cluster planopt demo --master {master}

All of it runs below one process, the keeper. The keeper kills everything and ends when its standard input does. So
nothing is left behind, also if whoever started it was killed.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil

HOST = "127.0.0.1"
USUAL_PORT = 7077
WORKERS = 2
MEMORY = "1g"
_DAEMON_MEMORY = "256m"
_START_S = 600.0  # only to end a hang: on a machine that is busy a JVM takes minutes
_KEEPER = "--keeper"
_EXECUTOR = "CoarseGrainedExecutorBackend"
_MASTER = "org.apache.spark.deploy.master.Master"
_REGISTERED = "Registering worker"
_LOG = "{}.log"


@dataclass
class LittleCluster:
    """A running cluster, seen from a test."""

    master: str  # spark://127.0.0.1:port
    worker_pids: list[int]
    keeper_pid: int
    folder: str

    @property
    def environment(self) -> dict[str, str]:
        """What a driver needs: executors reach it on loopback, whatever the host's own name means here."""
        return {"SPARK_LOCAL_IP": HOST}

    def executors(self) -> list[psutil.Process]:
        """The JVMs that run tasks, the oldest first."""
        found = [child for pid in self.worker_pids for child in _children(pid)]
        return sorted((p for p in found if _runs(p, _EXECUTOR)), key=lambda p: p.create_time())

    def kill_executor(self) -> int:
        """SIGKILL to one; its worker starts another."""
        executor = self.executors()[0]
        executor.kill()
        return int(executor.pid)

    def kill_worker(self) -> None:
        """For good, and its executors at once: nobody starts them again."""
        pid = self.worker_pids.pop()
        for process in (psutil.Process(pid), *_children(pid)):
            with suppress(psutil.NoSuchProcess):
                process.kill()

    @property
    def master_pid(self) -> int:
        (found,) = [child for child in _children(self.keeper_pid) if _runs(child, _MASTER)]
        return int(found.pid)

    def kill_master(self) -> None:
        psutil.Process(self.master_pid).kill()

    def start_master_again(self) -> None:
        """At the same address; back when all workers that are left have found it."""
        Path(self.folder, _LOG.format("master")).unlink()
        os.kill(self.keeper_pid, signal.SIGUSR1)
        _wait_for(Path(self.folder, _LOG.format("master")), _REGISTERED, len(self.worker_pids))

    @contextmanager
    def slowed(self, *, stopped_s: float = 0.45, running_s: float = 0.05) -> Iterator[None]:
        """Until the end, one executor and its Python workers are stopped most of the time."""
        pulse = [sys.executable, "-c", _PULSE, str(self.executors()[-1].pid), str(stopped_s), str(running_s)]
        pulsing = subprocess.Popen(pulse, stdin=subprocess.PIPE)
        try:
            yield
        finally:
            pulsing.communicate()


# In a process of its own: the one that asks may be killed, and nothing may stay stopped.
_PULSE = """
import select, sys, psutil
executor, stopped_s, running_s = psutil.Process(int(sys.argv[1])), float(sys.argv[2]), float(sys.argv[3])
def ended(seconds):
    return bool(select.select([sys.stdin], [], [], seconds)[0])
try:
    while True:
        executor.suspend()
        over = ended(stopped_s)
        executor.resume()
        if over or ended(running_s):
            break
except psutil.NoSuchProcess:
    pass
"""


@contextmanager
def little_cluster(workers: int = WORKERS, *, memory: str = MEMORY, port: int = 0) -> Iterator[LittleCluster]:
    with tempfile.TemporaryDirectory(prefix="planopt-cluster-") as folder:
        command = [sys.executable, __file__, _KEEPER, folder, str(workers), memory, str(port or _free_port())]
        # A session of its own: a signal to the group of this process, such as Ctrl-C, does not reach it.
        keeper = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        with keeper:
            assert keeper.stdout is not None
            told = keeper.stdout.readline()
            if not told:
                raise RuntimeError("the cluster did not start:\n" + _said(Path(folder)))
            yield LittleCluster(**json.loads(told))


def main(words: Sequence[str]) -> int:
    """Run a command beside a new cluster; the exit code is the command's.

    At Spark's usual port where it is free: the address is part of what evidence belongs to.
    """
    # Ctrl-C goes to the command too, and it ends by itself. SIGTERM reaches only this process, and is passed on.
    with little_cluster(port=USUAL_PORT if _is_free(USUAL_PORT) else 0) as cluster:
        command = [word.replace("{master}", cluster.master) for word in words]
        running = subprocess.Popen(command, env={**os.environ, **cluster.environment})
        signal.signal(signal.SIGTERM, lambda *_: running.terminate())
        while True:
            with suppress(KeyboardInterrupt):
                return running.wait()


# In the keeper's own process


class _Keeper:
    def __init__(self, folder: Path, memory: str, port: int) -> None:
        found = find_spec("pyspark")
        assert found is not None
        assert found.origin is not None
        self._home, self._folder, self._memory = Path(found.origin).parent, folder, memory
        self._master = f"spark://{HOST}:{port}"
        self._port, self._started = port, list[psutil.Process]()

    def start(self, workers: int) -> dict[str, Any]:
        self.start_master()
        self._wait("master", rf"Starting Spark master at {re.escape(self._master)}", 1)
        pids = [self._worker(number) for number in range(workers)]
        self._wait("master", _REGISTERED, workers)
        return {
            "master": self._master,
            "worker_pids": pids,
            "keeper_pid": os.getpid(),
            "folder": str(self._folder),
        }

    def start_master(self, *_: object) -> None:
        self._java("master", _MASTER, "--port", str(self._port))

    def stop(self) -> None:
        """All that is below this process; the Python workers of an executor are in process groups of their own."""
        below = psutil.Process().children(recursive=True)
        for process in below:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(below, timeout=10)

    def _worker(self, number: int) -> int:
        resources = ["--cores", "1", "--memory", self._memory, "--work-dir", str(self._folder / f"work-{number}")]
        return self._java(f"worker-{number}", "org.apache.spark.deploy.worker.Worker", *resources, self._master)

    def _java(self, name: str, main_class: str, *words: str) -> int:
        """`spark-class` becomes the JVM it starts, so its process id is the JVM's."""
        own = {
            "SPARK_HOME": str(self._home),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_DAEMON_MEMORY": _DAEMON_MEMORY,
            "SPARK_LOCAL_DIRS": str(self._folder / "local"),
        }
        # A terminal's settings are not the cluster's; a driver sends its own.
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
        command = [str(self._home / "bin" / "spark-class"), main_class, "--host", HOST, "--webui-port", "0", *words]
        with self._log(name).open("wb") as log:
            started = subprocess.Popen(command, env=inherited | own, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._started.append(psutil.Process(started.pid))
        return started.pid

    def _wait(self, name: str, words: str, times: int) -> None:
        _wait_for(self._log(name), words, times, while_=lambda: all(_lives(process) for process in self._started))

    def _log(self, name: str) -> Path:
        return self._folder / _LOG.format(name)


def _keep(folder: str, workers: str, memory: str, port: str) -> None:
    keeper = _Keeper(Path(folder), memory, int(port))
    try:
        told = keeper.start(int(workers))
        signal.signal(signal.SIGUSR1, keeper.start_master)
        print(json.dumps(told), flush=True)
        sys.stdin.read()
    finally:
        keeper.stop()


def _wait_for(log: Path, pattern: str, times: int, while_: Callable[[], bool] = lambda: True) -> None:
    give_up = time.monotonic() + _START_S
    while not log.exists() or len(re.findall(pattern, log.read_text(errors="replace"))) < times:
        if time.monotonic() > give_up or not while_():
            raise RuntimeError(f"no {pattern!r} in {log.name}")
        time.sleep(0.1)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) != 0


def _free_port() -> int:
    with socket.socket() as free:
        free.bind((HOST, 0))
        return int(free.getsockname()[1])


def _children(pid: int) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return list(psutil.Process(pid).children(recursive=True))
    return []


def _runs(process: psutil.Process, main_class: str) -> bool:
    with suppress(psutil.NoSuchProcess):
        return _lives(process) and any(main_class in word for word in process.cmdline())
    return False


def _lives(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


def _said(folder: Path) -> str:
    logs = sorted(folder.glob("*.log"))
    return "\n".join(f"{log.name}: {log.read_text(errors='replace')[-2000:]}" for log in logs)


if __name__ == "__main__":
    if sys.argv[1:2] == [_KEEPER]:
        _keep(*sys.argv[2:])
    else:
        sys.exit(main(sys.argv[1:]))
