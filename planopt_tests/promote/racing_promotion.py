"""Promotes one query by hand, in a process of its own, but writes only when another process is about to write too."""

from __future__ import annotations

import sys
import time
import uuid
from pathlib import Path
from typing import Any

from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import PlanoptError
from planopt_assets.promote import stage
from planopt_assets.run import Run
from planopt_assets.workload import load_workload


def main(file: str, query: str, name: str, others: int) -> None:
    meeting = Path(file).parent / "meeting"
    run = Run(Workspace(load_workload(Path(file))), str(uuid.uuid4()), by_hand=True)
    run.workspace.spark.range(1).count()  # warm: both should write at the same moment
    real = stage.commit

    def together(*args: Any) -> None:
        (meeting / name).touch()
        until = time.monotonic() + 120
        while len(list(meeting.iterdir())) < others and time.monotonic() < until:
            time.sleep(0.005)
        real(*args)

    stage.commit = together
    try:
        (result,) = stage.promote(run, [query])
        print(f"won: {result.summary}")
    except PlanoptError as error:
        print(f"lost: {error}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
