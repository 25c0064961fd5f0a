"""`planopt` in processes that find no Java, each a copy of one that has imported everything already.

Imports are most of what a command that only reads takes. Here they are paid once for a test run. A copy is a process of
its own in all else: own folder, own output, own exit code, and Python ends it as always.
"""

from __future__ import annotations

import atexit
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path

from planopt_tests.fresh_python import ROOT, findable

NO_JAVA = {**os.environ, "JAVA_HOME": "/nonexistent", "PATH": str(Path(sys.executable).parent)}


def without_java(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`planopt WORDS` in this folder."""
    copier = _copier()
    assert copier.stdin is not None
    assert copier.stdout is not None
    copier.stdin.write(json.dumps([str(cwd), *words]) + "\n")
    copier.stdin.flush()
    code, out, err = json.loads(copier.stdout.readline())
    return subprocess.CompletedProcess(["planopt", *words], code, out, err)


@cache
def _copier() -> subprocess.Popen[str]:
    started = subprocess.Popen(
        [sys.executable, "-m", __name__],
        env={**NO_JAVA, "PYTHONPATH": findable()},
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(started.communicate)  # it ends with its input
    return started


def _copy(out: int, err: int, folder: str, *words: str) -> int:
    """Fork: 0 in the copy, which is ready to run the command; the copy's process id in this one."""
    copy = os.fork()
    if copy == 0:
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.argv = ["planopt", *words]
        return 0
    return copy


def main() -> None:
    from planopt_assets import cli, loop, report

    for package in (loop, report):  # the store, Arrow and delta-rs come with them; no Spark, no Dagster
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    for line in sys.stdin:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            copy = _copy(out.fileno(), err.fileno(), *json.loads(line))
            if copy == 0:
                cli.main()
            code = os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])
            said = [file.seek(0) or file.read().decode() for file in (out, err)]
        print(json.dumps([code, *said]), flush=True)


if __name__ == "__main__":
    main()
