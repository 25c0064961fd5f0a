"""`planopt` several times with one Spark: every time but the last in a copy of this process, which dies or ends alone.

    python -m planopt_tests.promote.forking_planopt '[["after_validate_trials", "run", "--json"], …]'

A copy takes everything that Python knew with it; only Spark's JVM, which takes half a minute to get warm, is shared.
The last command is run by the process itself: where that dies, its Spark is gone as well.

A point is where a command dies. Points before it may be named with a folder, as in `after_clone:/there after_commit`:
the workload's folder is copied to it, as a process that dies at that point would leave it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from functools import partial
from pathlib import Path
from threading import Thread

import planopt_assets.definitions  # noqa: F401  # what every copy would import for itself
from planopt_assets import cli
from planopt_assets.defs import resources
from planopt_assets.engine.delta import clones
from planopt_assets.engine.sessions.session import open_session
from planopt_assets.loop import run
from planopt_assets.loop.maintaining import apply, layout_trial
from planopt_assets.store.crash_points import VARIABLE, reached
from planopt_assets.workload import load_workload
from planopt_tests.promote.lenient_planopt import PATIENT


def command(points: str, *words: str) -> int:
    *before, os.environ[VARIABLE] = points.split()
    if before:
        _keep(Path(words[words.index("-w") + 1]).parent, dict(point.split(":", 1) for point in before))
    sys.argv = ["planopt", *words]
    try:
        cli.main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def _keep(folder: Path, copies: dict[str, str]) -> None:
    def reached_and_kept(point: str) -> None:
        if point in copies:
            shutil.copytree(folder, copies.pop(point), dirs_exist_ok=True)
        reached(point)

    for module in (clones, layout_trial, apply):
        module.reached = reached_and_kept  # type: ignore[attr-defined]


def main(commands: list[list[str]]) -> int:
    resources.Run = run.Run = partial(run.Run, rules=PATIENT)  # type: ignore[misc,assignment]
    # By a thread, which takes its connection to Spark along: no copy talks over that of another.
    opening = Thread(target=open_session, args=[load_workload(Path("planopt.yaml"))])
    opening.start()
    opening.join()
    for words in commands[:-1]:
        copy = os.fork()
        if copy == 0:
            os._exit(command(*words))  # without what Python does at its end: that would stop Spark
        print(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]), flush=True)
    return command(*commands[-1])


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
