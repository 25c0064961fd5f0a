"""The folder of Spark's catalog goes with its process, and a killed process's folder with the next one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from planopt_assets.engine.sessions import warehouse

pytestmark = pytest.mark.fast

STARTED = (
    "from planopt_assets.engine.sessions.warehouse import warehouse_of_process; "
    "print(warehouse_of_process(), warehouse_of_process(), flush=True); "
)


def start(temp: Path, then: str) -> tuple[str, str]:
    """The folder that a process was given twice, after the process ended."""
    environment = {**os.environ, "TMPDIR": str(temp)}
    done = subprocess.run(
        [sys.executable, "-c", STARTED + then],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    first, second = done.stdout.split()
    return first, second


def test_a_process_has_one_folder_and_removes_it(tmp_path: Path) -> None:
    first, second = start(tmp_path, "pass")
    assert first == second
    assert Path(first).parent == tmp_path
    assert not list(tmp_path.iterdir())


def test_the_next_process_removes_the_folder_of_a_killed_one(tmp_path: Path) -> None:
    killed, _ = start(tmp_path, "import os; os.kill(os.getpid(), 9)")
    assert Path(killed).is_dir()
    start(tmp_path, "pass")
    assert not list(tmp_path.iterdir())


def test_a_forked_child_leaves_the_folder_to_its_parent(tmp_path: Path) -> None:
    child = "import os, sys; pid = os.fork(); pid or sys.exit(); os.waitpid(pid, 0); os.kill(os.getpid(), 9)"
    folder, _ = start(tmp_path, child)
    assert Path(folder).is_dir()


def test_only_empty_folders_of_dead_processes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warehouse.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(warehouse.psutil, "pid_exists", lambda pid: pid != 111)
    for name in ("111-empty", "111-used/table", "222-alive", "111", "other"):
        (tmp_path / f"planopt-warehouse-{name}").mkdir(parents=True)
    (tmp_path / "planopt-warehouse-111-file").write_text("not a folder")
    warehouse.remove_abandoned()
    left = sorted(path.name.removeprefix("planopt-warehouse-") for path in tmp_path.iterdir())
    assert left == ["111", "111-file", "111-used", "222-alive", "other"]
