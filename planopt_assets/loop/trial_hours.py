"""The hours in which trials may run (`trial_window`): a cluster may have better things to do at noon."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from planopt_assets.model.workload import Workload


def trials_open_for_s(workload: Workload, now: datetime) -> float:
    """Seconds for which trials may still run: 0 outside their hours, infinity where they have none."""
    if workload.trial_window is None:
        return math.inf
    return workload.trial_window.open_for_s(now.astimezone(ZoneInfo(workload.automation.time_zone)))


def outside_window(workload: Workload, now: datetime) -> str:
    """Why no trial may run now; empty if it may."""
    window = workload.trial_window
    if window is None or trials_open_for_s(workload, now) > 0:
        return ""
    return f"trials run from {window.describe()} ({workload.automation.time_zone}): left for a run at that time"
