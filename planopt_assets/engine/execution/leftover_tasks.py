"""Tasks that go on after their job was cancelled: one that does not look at the cancel keeps its core for ever."""

from __future__ import annotations

import time
from typing import Any

# Most tasks end at their next row. A regular expression that backtracks without end never gets there.
PATIENCE_S = 30.0
_ASK_EVERY_S = 0.2


def tasks_end(context: Any, patience_s: float | None = None) -> bool:
    """Wait until no task of the application runs; False where some do not end. None: the usual patience."""
    give_up = time.monotonic() + (PATIENCE_S if patience_s is None else patience_s)
    while running_tasks(context):
        if time.monotonic() >= give_up:
            return False
        time.sleep(_ASK_EVERY_S)
    return True


def running_tasks(context: Any) -> int:
    """On all executors, the driver's own among them."""
    executors = context._jsc.sc().statusStore().executorList(True)
    return sum(int(executors.apply(place).activeTasks()) for place in range(executors.length()))
