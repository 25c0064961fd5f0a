"""Whether one executor was held up: by another program on its machine, by its disk, or by being stopped.

Data that is unevenly spread makes tasks longer too, but they then need more CPU. An executor that is held up takes more
time for each second of CPU than the others do in the same stage. Other stages tell nothing: one that reads a file in a
single task waits for storage, whoever runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

SLOWER = 3.0
"""So many times more time for a second of CPU than the other executors, in the middle, is held up."""
LEAST_S = 0.3
"""Less lost time than this is chance."""


@dataclass(frozen=True, slots=True)
class Tasks:
    """What the tasks of one executor took, in seconds. Waiting for a shuffle is not its own doing."""

    run_s: float = 0.0
    cpu_s: float = 0.0

    @property
    def slowness(self) -> float:
        return self.run_s / max(self.cpu_s, 1e-3)


Stage = Mapping[str, Tasks]
"""By executor."""


def by_executor(tasks: Iterable[Mapping[str, Any]]) -> dict[str, Tasks]:
    """Of the tasks of one stage, as Spark tells them."""
    found: dict[str, Tasks] = {}
    for task in tasks:
        metrics = task.get("taskMetrics")
        if not metrics:
            continue
        before = found.get(task["executorId"], Tasks())
        waited_ms = metrics["shuffleReadMetrics"]["fetchWaitTime"] + metrics["jvmGcTime"]
        found[task["executorId"]] = Tasks(
            before.run_s + max(0, metrics["executorRunTime"] - waited_ms) / 1e3,
            before.cpu_s + metrics["executorCpuTime"] / 1e9,
        )
    return found


def straggler(stages: Iterable[Stage]) -> str:
    """In words which executor was held up; empty where none was, or where no stage ran on several.

    Worked: executor 0 takes 4.0 s for 1.0 s of CPU, executor 1 takes 1.2 s for 1.0 s: 3.3 times as much, 2.8 s lost.

    >>> straggler([{"0": Tasks(4.0, 1.0), "1": Tasks(1.2, 1.0)}])
    'executor 0 was held up: 4.0 s of tasks, where the others would take 1.2 s'
    >>> straggler([{"0": Tasks(4.0, 3.5), "1": Tasks(1.2, 1.0)}])
    ''
    >>> straggler([{"0": Tasks(4.0, 1.0)}, {"1": Tasks(1.2, 1.0)}])
    ''
    """
    took: dict[str, float] = {}
    usual: dict[str, float] = {}
    for stage in stages:
        for name, tasks in stage.items():
            others = [one.slowness for other, one in stage.items() if other != name]
            if others:
                took[name] = took.get(name, 0.0) + tasks.run_s
                usual[name] = usual.get(name, 0.0) + max(1.0, median(others)) * tasks.cpu_s
    for name in sorted(took):
        if took[name] > SLOWER * usual[name] and took[name] - usual[name] > LEAST_S:
            return (
                f"executor {name} was held up: {took[name]:.1f} s of tasks, "
                f"where the others would take {usual[name]:.1f} s"
            )
    return ""
