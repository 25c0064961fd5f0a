"""CPU time of what a query asks for: executor CPU alone does not see broadcasts being built, the process sees too much.

The JVM's own compiler and collector run in threads of no program. In a session a few minutes old they took half of the
CPU of TPC-H queries at scale 0.1 (0.7 to 1.4 of 1.2 to 2.8 s), the collector in lumps of 0 or 0.3 s, whatever the
policy. Without them, pairs of q17 differed by 5 % and not by 19 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class CpuReading:
    """Nanoseconds of every thread of the program, by its id, and of all Python workers together."""

    threads: dict[str, int]
    workers_ns: int


class ProgramCpu:
    """Reads the CPU of the driver's threads and of its Python workers; in local mode the tasks of executors are there.

    What a thread spent that ends between two readings is lost. Those of tasks are kept for a minute.
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
        return CpuReading({thread: int(ns) for thread, ns in found if ns != "-1"}, self._workers_ns())

    def since(self, start: CpuReading) -> int:
        """Nanoseconds from a reading till now."""
        now = self.read()
        program = sum(ns - start.threads.get(thread, 0) for thread, ns in now.threads.items())
        return program + now.workers_ns - start.workers_ns

    def _numbers(self, array: Any) -> list[str]:
        """A Java array as text: one call, where asking for each element would be hundreds."""
        return str(self._arrays.toString(array)).strip("[]").split(", ")

    def _workers_ns(self) -> int:
        """All processes below the JVM; what ended ones took is kept by the process that waited for them."""
        seconds = _ended(self._process)
        for child in self._process.children(recursive=True):
            try:
                times = child.cpu_times()
                seconds += times.user + times.system + _ended(child)
            except psutil.Error:  # it has just ended: its parent tells
                continue
        return round(seconds * 1e9)


def _ended(process: psutil.Process) -> float:
    """Seconds of children that have ended; only Linux tells."""
    times = process.cpu_times()
    return float(getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0))
