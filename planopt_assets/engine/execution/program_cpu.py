"""CPU time of what a query asks for: executor CPU alone does not see broadcasts being built, the process sees too much.

The JVM's own compiler and collector run in threads of no program. In a session a few minutes old they took half of the
CPU of TPC-H queries at scale 0.1 (0.7 to 1.4 of 1.2 to 2.8 s), the collector in lumps of 0 or 0.3 s, whatever the
policy. Without them, pairs of q17 differed by 5 % and not by 19 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class CpuReading:
    """Nanoseconds of every thread of the program and of every Python worker, by id, and of workers that have ended."""

    threads: Mapping[str, int]
    workers: Mapping[int, int]
    ended_workers_ns: int = 0  # always 0 where the system does not tell

    def until(self, later: CpuReading) -> int:
        """What was used from this reading to a later one.

        Worked: thread 1 went from 5 to 8 s and thread 2 is new with 1 s: 4 s. Worker 7 had 30 s and has ended; if the
        system tells of 31 s in ended workers, that is 1 s more.
        """
        together = sum(later.workers.values()) + later.ended_workers_ns
        before = sum(self.workers.values()) + self.ended_workers_ns
        return _growth(self.threads, later.threads) + max(together - before, _growth(self.workers, later.workers))


def _growth(before: Mapping[Any, int], after: Mapping[Any, int]) -> int:
    return sum(ns - before.get(one, 0) for one, ns in after.items())


class ProgramCpu:
    """Reads the CPU of the driver's threads and of its Python workers; in local mode the tasks of executors are there.

    What a thread spent that ends between two readings is lost. Those of tasks end after a minute without one: there
    the stages tell (`counting.py`). On a cluster, Python workers are where the executors are, and in no counter.
    """

    def __init__(self, spark: SparkSession) -> None:
        java: Any = spark._jvm.java  # type: ignore[union-attr]
        self._arrays, self._threads = java.util.Arrays, java.lang.management.ManagementFactory.getThreadMXBean()
        self._process = psutil.Process(int(java.lang.ProcessHandle.current().pid()))
        master = str(spark.sparkContext.master)
        self.includes_executors = master.startswith("local") and not master.startswith("local-cluster")

    def read(self) -> CpuReading:
        ids = self._threads.getAllThreadIds()
        times = self._threads.getThreadCpuTime(ids)
        found = zip(self._numbers(ids), self._numbers(times), strict=True)
        threads = {thread: int(ns) for thread, ns in found if ns != "-1"}
        return CpuReading(threads, *self._workers())

    def since(self, start: CpuReading) -> int:
        """Nanoseconds from a reading till now."""
        return start.until(self.read())

    def _numbers(self, array: Any) -> list[str]:
        """A Java array as text: one call, where asking for each element would be hundreds."""
        return str(self._arrays.toString(array)).strip("[]").split(", ")

    def _workers(self) -> tuple[dict[int, int], int]:
        """All processes below the JVM, and what ended ones took, which is kept by the process that waited for them."""
        workers, ended = {}, _ended_ns(self._process)
        for child in self._process.children(recursive=True):
            try:
                times = child.cpu_times()
                workers[child.pid] = round((times.user + times.system) * 1e9)
                ended += _ended_ns(child)
            except psutil.Error:  # it has just ended: its parent tells
                continue
        return workers, ended


def _ended_ns(process: psutil.Process) -> int:
    """Of children that have ended; only Linux tells."""
    times = process.cpu_times()
    return round((getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)) * 1e9)
