"""How far the memory of this process rises above where it was, and what Spark's driver was sent meanwhile."""

from __future__ import annotations

import threading
import uuid
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import psutil

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVERY_S = 0.005


class MemoryProbe:
    """With it: `grown` bytes of resident memory at the highest, `sent` bytes of task results to the driver."""

    def __init__(self, spark: SparkSession) -> None:
        self._context: Any = spark.sparkContext
        self._group = f"memory-{uuid.uuid4().hex}"
        self._process = psutil.Process()
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self.grown = self.sent = self.tasks = 0

    def __enter__(self) -> Self:
        self._context.setJobGroup(self._group, self._group)
        self._before = self._process.memory_info().rss
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._look()
        self._done.set()
        self._watcher.join()
        self._context._jsc.clearJobGroup()
        self._read_stages()

    def _watch(self) -> None:
        while not self._done.wait(_EVERY_S):
            self._look()

    def _look(self) -> None:
        self.grown = max(self.grown, self._process.memory_info().rss - self._before)

    def _read_stages(self) -> None:
        java = self._context._jsc.sc()
        java.listenerBus().waitUntilEmpty()
        tracker = self._context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(self._group)]
        for stage in {stage for job in jobs for stage in job.stageIds}:
            told = java.statusStore().lastStageAttempt(stage)
            self.sent += told.resultSize()
            self.tasks += told.numCompleteTasks()
