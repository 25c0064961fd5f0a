"""CPU time of the driver process: executor CPU alone does not see broadcasts being built."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ProcessCpu:
    """Reads the CPU clock of the driver's JVM; in local mode this includes the executors' tasks."""

    def __init__(self, spark: SparkSession) -> None:
        pid = int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
        self._process = psutil.Process(pid)
        master = str(spark.sparkContext.master)
        self.includes_executors = master.startswith("local") and not master.startswith("local-cluster")

    def read_ns(self) -> int:
        times = self._process.cpu_times()
        return round((times.user + times.system) * 1e9)
