"""Promotes one query by hand, but writes only when another process is about to write too."""

from __future__ import annotations

import sys
import time
import uuid
from pathlib import Path
from typing import Any
from unittest.mock import patch

from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import PlanoptError
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages import promote as stage
from planopt_assets.store.store import Store
from planopt_assets.workload import load_workload


def promote_when_both_are_ready(file: Path, query: str, name: str) -> str:
    """How it ended for this process, which is `name` in the folder where the two meet."""
    meeting = file.parent / "meeting"
    run = Run(Workspace(load_workload(file)), str(uuid.uuid4()), by_hand=True)
    run.workspace.spark.range(1).count()  # warm: both should write at the same moment
    real = Store.commit

    def together(*args: Any) -> None:
        (meeting / name).touch()
        until = time.monotonic() + 120
        while len(list(meeting.iterdir())) < 2 and time.monotonic() < until:
            time.sleep(0.005)
        real(*args)

    with patch.object(Store, "commit", together):
        try:
            (result,) = stage.promote(run, [query])
        except PlanoptError as error:
            return f"lost: {error}"
    return f"won: {result.summary}"


if __name__ == "__main__":
    print(promote_when_both_are_ready(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
