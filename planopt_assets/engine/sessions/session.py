"""The one Spark session of a run: built once, Delta configured, and checked to be the one asked for."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from planopt_assets.engine.jvm.started_with import started_with
from planopt_assets.engine.sessions.executors import SAME_SPARK, runs_alone, wait_for_executors
from planopt_assets.engine.sessions.jars import delta_jars
from planopt_assets.engine.sessions.java import check_java
from planopt_assets.engine.sessions.python_workers import WORKER_DEFAULTS
from planopt_assets.engine.sessions.same_versions import check_same_versions
from planopt_assets.engine.sessions.supported import check_supported
from planopt_assets.engine.sessions.warehouse import warehouse_of_process
from planopt_assets.errors import SessionMismatch, SparkFailed
from planopt_assets.model.ids import content_id

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from planopt_assets.model.workload import Workload

DELTA = "io.delta.sql.DeltaSparkSessionExtension"
# Delta's parser drops parameters unless Spark binds them in the analyzer (delta-io/delta issue 7640).
BOUND_BY_ANALYZER = ("spark.sql.legacy.parameterSubstitution.constantsOnly", "true")
REQUIRED = {
    "spark.sql.extensions": DELTA,
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    **dict([BOUND_BY_ANALYZER]),
}
_LOGGING = f"-Dlog4j2.configurationFile={(Path(__file__).parent / 'log4j2.properties').as_uri()}"
FIRST_EXPRESSION_ID = 1_000_000_000
_ASKED = "spark.planopt.asked"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_WAREHOUSE = "spark.sql.warehouse.dir"
_STARTED: WeakKeyDictionary[SparkContext, int] = WeakKeyDictionary()  # by planopt, in which process
DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # Spark starts one task per snapshot partition for every small Delta read; fifty is for clusters.
    "spark.databricks.delta.snapshotPartitions": "2",
    # Spark 4.2.0 hangs when an Arrow Python function gets its rows in columns straight from a scan (SPARK-58241).
    "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
    **WORKER_DEFAULTS,
    # Trials run one after the other for a long time in one JVM: keep what their counters need, not more.
    "spark.ui.retainedStages": "2000",
    "spark.ui.retainedJobs": "2000",
    "spark.sql.ui.retainedExecutions": "50",
    # Trials take turns among many plans. Spark keeps the compiled code of 100 pieces, and the ten queries of the demo
    # have 292: two thirds were compiled again in each round, and that cost was the same with every layout and policy.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # Plans are compared as text: nothing of them may be cut off.
    "spark.sql.maxMetadataStringLength": "100000",
    "spark.sql.debug.maxToStringFields": "10000",
    _JAVA_OPTIONS: _LOGGING,
}
CLUSTER_DEFAULTS = {
    # Trials of a pair must have the same executors. A user's own setting wins, and trials say when they changed.
    "spark.dynamicAllocation.enabled": "false",
}


def session_settings(workload: Workload) -> dict[str, str]:
    """The settings contract of the session: planopt's defaults, then the user's, then what Delta requires.

    Java's options are joined, the user's last: of two that contradict each other, Java takes the last.
    """
    asked = workload.session_settings
    extensions = dict.fromkeys([REQUIRED["spark.sql.extensions"], *asked.get("spark.sql.extensions", "").split(",")])
    joined = ",".join(name for name in extensions if name)
    on_cluster = {} if runs_alone(workload.master) else CLUSTER_DEFAULTS
    java = " ".join(options for options in (_LOGGING, asked.get(_JAVA_OPTIONS)) if options)
    return {**DEFAULTS, **on_cluster, **asked, **REQUIRED, "spark.sql.extensions": joined, _JAVA_OPTIONS: java}


def open_session(workload: Workload) -> SparkSession:
    """Start Spark, or take over the session of this process if it is the one asked for."""
    check_supported()
    check_java()
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    # Python workers must be this Python, not the first `python3` on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    settings = session_settings(workload)
    # The process's own session first: the active one may be that of a policy.
    found = SparkSession._instantiatedSession or SparkSession.getActiveSession()
    if found is None:
        builder = SparkSession.builder.master(workload.master).appName(f"planopt:{workload.name}")
        for name, value in settings.items():
            builder = builder.config(name, value)
        builder = builder.config(_ASKED, _asked(workload.master, settings))
        if _WAREHOUSE not in settings:
            builder = builder.config(_WAREHOUSE, warehouse_of_process())
        builder = builder.config("spark.jars", ",".join([*delta_jars(), *_user_jars(settings)]))
        try:
            found = builder.getOrCreate()
        except (Py4JError, PySparkException, RuntimeError, OSError) as error:
            raise SparkFailed(
                f"Spark did not start: {_words_of(error, workload.master)}",
                where=workload.master,
                fix=_fix_for(workload.master),
            ) from error
        _STARTED[found.sparkContext] = os.getpid()
        found.sparkContext.setLogLevel("ERROR")
        _raise_expression_ids(found)
        _check_cluster(found)
    _check(found, workload.master, settings)
    return found


def _check_cluster(session: SparkSession) -> None:
    """A cluster must be there, and be the same Spark, before anything is measured on it."""
    from py4j.protocol import Py4JError

    try:
        wait_for_executors(session)
        check_same_versions(session)
    except SparkFailed:
        session.stop()
        raise
    except Py4JError as error:
        session.stop()
        raise SparkFailed(
            f"Spark stopped while it started: {_words_of(error, str(session.sparkContext.master))}",
            where=str(session.sparkContext.master),
            fix=f"check that the cluster runs and can be reached from here; {SAME_SPARK}",
        ) from error


def _fix_for(master: str) -> str:
    """
    >>> _fix_for("local[2]")[-20:], _fix_for("spark://host:7077")[-44:]
    (' and `java -version`', '; driver and cluster must run the same Spark')
    """
    fix = "check `spark.master` and `spark.settings` in the workload file, and `java -version`"
    return fix if runs_alone(master) else f"{fix}; {SAME_SPARK}"


def _words_of(error: BaseException, master: str) -> str:
    """The line of Spark's error that says what is wrong; py4j's own line only says that a call failed.

    Spark that does not reach a master stops itself after a minute, and its next call says only that.
    """
    java = getattr(error, "java_exception", None)
    words = str(java.toString() if java is not None else error).splitlines()[0]
    lost = "stopped SparkContext" in words and not runs_alone(master)
    return "it has no connection to the cluster" if lost else words


def is_ours(session: SparkSession) -> bool:
    """Whether planopt started this session in this process, or took over one that somebody else uses."""
    return _STARTED.get(session.sparkContext) == os.getpid()


def was_forked(session: SparkSession) -> bool:
    """Whether planopt started this session in a process that this one is a copy of: its JVM is not this one's child."""
    return _STARTED.get(session.sparkContext, os.getpid()) != os.getpid()


def _raise_expression_ids(session: SparkSession) -> None:
    """Let Spark count expressions from a billion on, so that no literal in a plan can be mistaken for one.

    The counter never leaves the JVM (py4j would turn it into a number): its getter and `addAndGet` are joined there.
    """
    java: Any = session._jvm.java  # type: ignore[union-attr]
    field = java.lang.Class.forName("org.apache.spark.sql.catalyst.expressions.NamedExpression$").getDeclaredField(
        "curId"
    )
    field.setAccessible(True)
    handles, long = java.lang.invoke.MethodHandles, java.lang.Long.TYPE
    add = handles.lookup().findVirtual(
        java.lang.Class.forName("java.util.concurrent.atomic.AtomicLong"),
        "addAndGet",
        java.lang.invoke.MethodType.methodType(long, long),
    )
    amount = session.sparkContext._gateway.new_array(java.lang.Object, 1)  # type: ignore[union-attr]
    amount[0] = FIRST_EXPRESSION_ID
    added = handles.filterReturnValue(handles.lookup().unreflectGetter(field), handles.insertArguments(add, 1, amount))
    added.invokeWithArguments(java.util.ArrayList())


def _asked(master: str, settings: dict[str, str]) -> str:
    return content_id("ses", {"master": master, **settings})


def _user_jars(settings: dict[str, str]) -> list[str]:
    return [jar for jar in settings.get("spark.jars", "").split(",") if jar]


def _check(session: SparkSession, master: str, settings: dict[str, str]) -> None:
    """`getOrCreate` hands out whatever session the process has: a trial in the wrong one would prove nothing."""
    if started_with(session.sparkContext, _ASKED) == _asked(master, settings):
        return  # planopt's own; Spark rewrites some values (`/x` becomes `file:/x`), so they are not compared again
    actual = dict(session.sparkContext.getConf().getAll())
    differing = [
        f"{name} is {actual.get(name)!r}, asked for {value!r}"
        for name, value in {"spark.master": master, **settings}.items()
        if name not in ("spark.jars", _JAVA_OPTIONS) and actual.get(name) != value  # Spark adds to both
    ]
    if differing:
        raise SessionMismatch(
            "this process already has another Spark session: " + "; ".join(differing[:5]),
            where="spark session",
            fix="run planopt in a process of its own, or stop the other session first",
        )
