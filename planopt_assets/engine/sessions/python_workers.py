"""Python workers: planopt's own safe defaults, and every setting of theirs as it is in force."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planopt_assets.engine.jvm.started_with import started_with
from planopt_assets.observe.plans.udfs import UDF_SETTINGS
from planopt_assets.observe.tables.planning_settings import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

WORKER_DEFAULTS = {
    # A pandas or Arrow function sees batches. Other sizes could change its result: these are Spark's own, held fixed.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.execution.arrow.maxBytesPerBatch": "64MB",
    "spark.sql.execution.python.udf.maxRecordsPerBatch": "100",
    "spark.python.worker.reuse": "true",
    # A killing idle time-out fails a function that is only slow. The budgets of the workload stop one that hangs:
    # planopt cancels the job, and Spark ends the worker this long afterwards.
    "spark.python.worker.idleTimeoutSeconds": "0ms",
    "spark.python.worker.killOnIdleTimeout": "false",
    "spark.python.task.killTimeout": "2s",
    "spark.python.authenticate.socketTimeout": "15s",
    # A worker that crashes in native code says in which Python function; off in Spark.
    "spark.python.worker.faulthandler.enabled": "true",
}
"""No value of these can change a result; a workload's own `spark.settings` win."""

WORKER_SETTINGS = tuple(
    sorted(
        {
            *UDF_SETTINGS,
            *WORKER_DEFAULTS,
            "spark.executor.pyspark.memory",
            "spark.python.factory.idleWorkerMaxPoolSize",
            "spark.python.use.daemon",
            "spark.sql.execution.arrow.maxBytesPerOutputBatch",
            "spark.sql.execution.arrow.maxRecordsPerOutputBatch",
        }
    )
)
"""What an observation of a query with Python functions records."""


FALLBACKS = {
    f"spark.sql.execution.pyspark.udf.{rest}": f"spark.python.worker.{rest}"
    for rest in ("faulthandler.enabled", "idleTimeoutSeconds", "killOnIdleTimeout")
}
"""Settings of a session that read one of `WORKER_DEFAULTS` as long as nobody sets them."""


def without_own_defaults(defined: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Settings as they read in a session without planopt's defaults for Python workers.

    `defined` are effective values, `given` what was set. The environment of a plan is hashed from this, so that
    a default of planopt's own is no change of the environment, and stores from before it stay comparable.

    >>> without_own_defaults({}, {"spark.python.worker.reuse": "true", "spark.python.task.killTimeout": "9s"})
    {'spark.python.task.killTimeout': '9s'}
    """
    own = {name for name, value in given.items() if WORKER_DEFAULTS.get(name) == value}
    unset = {name: f"<value of {by}>" for name, by in FALLBACKS.items() if by in own and name not in given}
    return {**defined, **unset, **{name: value for name, value in given.items() if name not in own}}


def workers_in_force(session: SparkSession) -> tuple[tuple[str, str], ...]:
    """The effective value of each of `WORKER_SETTINGS`, also where nobody set it.

    Settings of the application are not listed in a session: there the value is the one it started with, or Spark's
    default.
    """
    jvm: Any = session._jvm
    jvm.java.lang.Class.forName("org.apache.spark.internal.config.Python$")  # it registers its settings when loaded
    find = jvm.org.apache.spark.internal.config.ConfigEntry.findEntry

    def value(name: str) -> str:
        if not name.startswith("spark.sql."):
            given = started_with(session.sparkContext, name)
            return str(find(name).defaultValueString() if given is None else given)
        found = session.conf.get(name)
        return "<undefined>" if found is None else str(found)

    return tuple((name, shown(value(name))) for name in WORKER_SETTINGS)
