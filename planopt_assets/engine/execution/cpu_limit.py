"""Whether a running execution has taken more CPU than it may: then its candidate cannot win any more."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planopt_assets.engine.execution.program_cpu import ProgramCpu


class CpuLimit:
    """Started when made. Asked, it tells in words that the limit is passed; empty if it is not.

    The threads are not read before all cores together could have taken that much: reading costs CPU itself, and would
    be charged to the candidate alone. On a cluster the driver does not see the CPU of tasks: there it never ends one.
    """

    def __init__(self, cpu: ProgramCpu, limit_s: float, cores: int) -> None:
        self._cpu, self._limit_s = cpu, limit_s
        self._start, self._earliest = cpu.read(), time.monotonic() + limit_s / max(1, cores)

    def __call__(self) -> str:
        if time.monotonic() < self._earliest:
            return ""
        used = self._cpu.since(self._start) / 1e9
        return f"took more CPU than the baseline: stopped at {used:.1f} s" if used > self._limit_s else ""
