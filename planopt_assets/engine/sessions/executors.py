"""The executors of a Spark application: which there are, how many cores they have, and how many were lost.

In local mode the driver is the only executor, and no question is asked.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.jvm.bridge import Jvm, jvm_of
from planopt_assets.engine.sessions.scheduler_pool import take_pool
from planopt_assets.errors import ClusterGivesNothing, SparkFailed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST_S = 120.0  # a cluster that is busy, or has to start machines, gives its first executor after a while
BACK_S = 30.0  # a standalone cluster has another executor within seconds
QUIET_S = 2.0  # at least so long without another one: then they are all there
_ASK_EVERY_S = 0.2
_DYNAMIC = "spark.dynamicAllocation.enabled"
SAME_SPARK = "driver and cluster must run the same Spark"  # of another one the master understands nothing
_GIVEN_BACK = ("idle", "decommission")  # dynamic allocation took them away on purpose


@dataclass(frozen=True, slots=True)
class Fleet:
    """The executors at one moment."""

    cores: Mapping[str, int] = field(default_factory=dict)  # by executor
    lost: int = 0  # so far, against Spark's will

    @property
    def total_cores(self) -> int:
        return sum(self.cores.values())

    def until(self, later: Fleet) -> str:
        """In words what happened to the executors from this moment to a later one; empty where nothing did.

        >>> Fleet({"0": 1, "1": 1}).until(Fleet({"0": 1, "2": 1}, lost=1))
        'an executor was lost'
        >>> Fleet({"0": 1}).until(Fleet({"0": 1, "1": 1}))
        'the executors changed from 1 to 2'
        """
        if later.lost > self.lost:
            return "an executor was lost"
        if set(later.cores) != set(self.cores):
            return f"the executors changed from {len(self.cores)} to {len(later.cores)}"
        return ""


def runs_alone(master: str) -> bool:
    """Whether the driver is the only executor.

    >>> [runs_alone(master) for master in ("local[2]", "local-cluster[2,1,1024]", "spark://host:7077", "yarn")]
    [True, False, False, False]
    """
    return master.startswith("local") and not master.startswith("local-cluster")


class Executors:
    """Looks at the executors of one application. `cores` is how many it had when this was made."""

    def __init__(self, spark: SparkSession, jvm: Jvm | None = None) -> None:
        self._context: Any = spark.sparkContext._jsc.sc()
        self._jvm = jvm or jvm_of(spark)
        self._parallelism = int(spark.sparkContext.defaultParallelism)
        self.alone = runs_alone(str(spark.sparkContext.master))
        now = self.look()
        self.cores = now.total_cores
        self._may_come_back = True
        self._last = frozenset(now.cores)  # at the end of the last execution

    def look(self) -> Fleet:
        if self.alone:
            return Fleet({"driver": self._parallelism})
        return fleet(self._jvm.to_python(self._context.statusStore().executorList(False)))

    @property
    def stopped(self) -> bool:
        """Whether Spark has given up: it does so a minute after it could not reach the master."""
        return bool(self._context.isStopped())

    def whole(self) -> Fleet:
        """The executors, when all cores are there: after one was lost, the cluster starts another.

        It waits once for a core that does not come back, not before every execution.
        """
        give_up, now = time.monotonic() + (BACK_S if self._may_come_back else 0.0), self.look()
        while now.total_cores < self.cores and time.monotonic() < give_up:
            time.sleep(_ASK_EVERY_S)
            now = self.look()
        self._may_come_back = now.total_cores >= self.cores
        return now

    def disturbed(self, before: Fleet) -> str:
        """In words what is wrong with an execution that began at this moment and has ended; empty if nothing is.

        An executor that was not there at the end of the execution before disturbs the first one on it: it is a JVM that
        has compiled nothing yet, perhaps on another machine.
        """
        now, last = self.look(), self._last
        self._last = frozenset(now.cores)
        if words := before.until(now):
            return words
        if now.total_cores > self.cores:
            return f"{now.total_cores} cores where trials began with {self.cores}"
        if now.total_cores < self.cores:
            return f"{now.total_cores} of {self.cores} cores are left"
        return "" if last == self._last else "another executor than in the execution before"


def fleet(executors: Iterable[Mapping[str, Any]]) -> Fleet:
    """From what Spark says of all executors it has ever had. The driver is among them, without cores.

    >>> gone = {"id": "1", "isActive": False, "removeReason": "worker lost"}
    >>> idle = {"id": "2", "isActive": False, "removeReason": "Executor killed: idle for 60 s"}
    >>> fleet([{"id": "driver", "isActive": True}, {"id": "0", "isActive": True, "totalCores": 4}, gone, idle])
    Fleet(cores={'0': 4}, lost=1)
    """
    found = [e for e in executors if e["id"] != "driver"]
    gone = [str(e.get("removeReason") or "").lower() for e in found if not e["isActive"]]
    cores = {str(e["id"]): int(e["totalCores"]) for e in found if e["isActive"]}
    return Fleet(cores, sum(not any(word in reason for word in _GIVEN_BACK) for reason in gone))


def wait_for_executors(spark: SparkSession, *, first_s: float | None = None) -> None:
    """Until the executors are there: before that Spark takes any cluster for one of two cores.

    A cluster that took long for the first one may take as long for the next: that is how long it is waited for. One
    that comes later would be another cluster than the one that trials began on.
    """
    executors = Executors(spark)
    if executors.alone:
        return
    started = changed = time.monotonic()
    began = started - max(0.0, time.time() - spark.sparkContext.startTime / 1e3)  # the application
    seen = executors.look().cores
    quiet_s = max(QUIET_S, started - began)
    if not seen and str(spark.sparkContext.getConf().get(_DYNAMIC)).lower() == "true":
        threading.Thread(target=_ask_for_one, args=(spark,), daemon=True).start()
    patience = FIRST_S if first_s is None else first_s
    while not seen or time.monotonic() < min(changed + quiet_s, started + max(patience, QUIET_S)):
        if executors.stopped:
            raise SparkFailed(
                "Spark stopped: it has no connection to the cluster",
                where=str(spark.sparkContext.master),
                fix=f"check that the master runs at this address and can be reached from here; {SAME_SPARK}",
            )
        if not seen and time.monotonic() - started > patience:
            raise ClusterGivesNothing(
                f"the cluster gave no executor in {patience:.0f} s",
                where=str(spark.sparkContext.master),
                fix="check that it has free cores, and as much memory in one place as `spark.executor.memory` asks for",
            )
        time.sleep(_ASK_EVERY_S)
        now = executors.look().cores
        if now != seen:
            if not seen:
                quiet_s = max(QUIET_S, time.monotonic() - began)
            seen, changed = now, time.monotonic()


def _ask_for_one(spark: SparkSession) -> None:
    """Dynamic allocation gives an executor only to a job. If none comes, the session is stopped, and the job ends."""
    from py4j.protocol import Py4JError

    with suppress(Py4JError, OSError):
        take_pool(spark.sparkContext)  # of this thread, which does nothing else
        spark.sparkContext.parallelize([0], 1).count()
