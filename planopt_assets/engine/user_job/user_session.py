"""A copy of the user's own session, in which a policy holds for one query and for nothing else.

`newSession()` would lose what the user set, registered or named in the session: temporary views, functions, the time
zone. Setting on the user's session and restoring later would reach other threads, and a frame is planned only when an
action runs. Spark's own `cloneSession` copies all of the session's state. The settings belong to the copy, so they hold
whenever a frame made from it is planned and executed, and nothing ever has to be restored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from planopt_assets.engine.delta.registry import missing_relation
from planopt_assets.engine.jvm.bridge import each
from planopt_assets.engine.sessions.knobs import check_settable
from planopt_assets.engine.sessions.session import BOUND_BY_ANALYZER, DELTA
from planopt_assets.errors import PolicyNotApplied
from planopt_assets.model.location import plain_path

if TYPE_CHECKING:
    from planopt_assets.model.workload import Table

MARKER = "spark.planopt.execution"
"""A setting nobody reads: Spark stores a session's settings with each execution, so executions are found by it."""

_APPLIED = "spark.planopt.applied"  # JSON: what a policy set, for a copy of the copy
Applied = dict[str, tuple[str, str | None]]
"""Settings of a policy by name: its value, and the value before it; None: it was not set."""

_FILES = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"
# Read from the session a scan was built in, not from the one that plans it.
_BOUND_TO_SCANS = ("parquet.", "spark.sql.files.", "spark.sql.parquet.", "spark.sql.orc.", "spark.databricks.delta.")


def copy_of(spark: SparkSession, marker: str, settings: Iterable[tuple[str, str]]) -> SparkSession:
    """A copy of the session as it is now, with a policy's settings and a marker on all it will execute."""
    from pyspark.sql.session import _monkey_patch_RDD

    session = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    _monkey_patch_RDD(spark)  # a new session takes over `rdd.toDF`: give it back
    _stand_where(spark, session)
    for name, (value, before) in applied_in(session).items():  # a job inside a job: the outer policy is not its own
        if own_value(session, name) == value:
            set_or_unset(session, name, before)
    applied: Applied = {}
    for name, value in settings:
        check_settable(session, name, where="policy", fix="run the job with the pinned Spark")
        applied[name] = (value, own_value(session, name))
        session.conf.set(name, value)
    session.conf.set(_APPLIED, json.dumps(applied))
    if DELTA in (own_value(session, "spark.sql.extensions") or ""):
        session.conf.set(*BOUND_BY_ANALYZER)  # without it no query with parameters runs
    session.conf.set(MARKER, marker)
    return session


def own_value(session: SparkSession, name: str) -> str | None:
    """What a session sets itself; None where Spark's default holds."""
    state: Any = session._jsparkSession.sessionState()
    return str(state.conf().getConfString(name)) if state.conf().contains(name) else None


def applied_in(session: SparkSession) -> Applied:
    """What a policy set in a copied session, and what the user had there; nothing in a session of the user's own."""
    return {name: (value, before) for name, (value, before) in json.loads(own_value(session, _APPLIED) or "{}").items()}


def set_or_unset(session: SparkSession, name: str, value: str | None) -> None:
    """None: Spark's default holds again."""
    if value is None:
        session.conf.unset(name)
    else:
        session.conf.set(name, value)


def _stand_where(spark: SparkSession, session: SparkSession) -> None:
    """`USE CATALOG` is not copied: without this a table name could mean another table."""
    if session.catalog.currentCatalog() != spark.catalog.currentCatalog():
        session.catalog.setCurrentCatalog(spark.catalog.currentCatalog())
    if session.catalog.currentDatabase() != spark.catalog.currentDatabase():
        session.catalog.setCurrentDatabase(spark.catalog.currentDatabase())


def run_sql(session: SparkSession, text: str, args: Any, tables: Sequence[Table]) -> DataFrame:
    """`session.sql`; a table the copy does not know is read from where the workload file says it is."""
    from pyspark.errors import AnalysisException

    while True:
        try:
            return session.sql(text, args=args or None)
        except AnalysisException as error:
            name = missing_relation(error)
            table = next((t for t in tables if t.name.lower() == name), None)
            if table is None or not add_table(session, table):
                raise


def add_table(session: SparkSession, table: Table) -> bool:
    """Name a table of the workload in a copied session; False where the name means something there already."""
    if session.catalog.tableExists(table.name):
        return False
    _read(session, table).createTempView(table.name)
    return True


def named_in(text: str, tables: Iterable[Table]) -> list[Table]:
    """The tables whose names stand in a text, as words; one too many does no harm."""
    words = {word.lower() for word in re.findall(r"\w+", text)}
    return [t for t in tables if t.name.lower() in words]


def schemas_in(session: SparkSession, tables: Iterable[Table]) -> dict[str, list[tuple[str, str]]]:
    """The columns the names of these tables have in a copied session."""
    schemas = {}
    for table in tables:
        add_table(session, table)
        fields = session.table(table.name).schema.fields
        schemas[table.name] = [(f.name, f.dataType.simpleString()) for f in fields]
    return schemas


def bound_to_scans(settings: Iterable[tuple[str, str]]) -> list[str]:
    """
    >>> bound_to_scans([("spark.sql.files.openCostInBytes", "1"), ("spark.sql.shuffle.partitions", "2")])
    ['spark.sql.files.openCostInBytes']
    """
    return [name for name, _ in settings if name.startswith(_BOUND_TO_SCANS)]


def renew_views(session: SparkSession, tables: Iterable[Table]) -> None:
    """Make the user's views anew in the copy where each is a plain read of a workload's table and no more.

    A view made from a frame keeps that frame's scan, and with it the session whose scan settings count.
    """
    for table in tables:
        if table.path is not None and session.catalog.tableExists(table.name):
            leaf = _only_scan(session.table(table.name))
            if leaf is not None and plain_path(location_of(leaf)) == plain_path(table.path):
                _read(session, table).createOrReplaceTempView(table.name)


def check_reached(frame: DataFrame, session: SparkSession, settings: Iterable[tuple[str, str]]) -> None:
    """An error where scan settings do not reach a scan of the frame: half a policy is not the one that was proven."""
    bound = bound_to_scans(settings)
    if bound and any(not _session_of(leaf).equals(session._jsparkSession) for leaf in scans_of(frame)):
        raise _not_applied(f"{', '.join(bound)} cannot reach a scan that was made before")


def rebuilt(frame: DataFrame, session: SparkSession) -> DataFrame:
    """A frame of the user's, to be planned and executed in a copy of its session; what it means was settled before."""
    execution: Any = frame._jdf.queryExecution()
    analyzed = execution.analyzed()
    if frame.isStreaming or "CollectMetrics" in str(analyzed.toString()):
        raise _not_applied("a streaming or observed frame belongs to the session it was made in")
    datasets: Any = session._jvm.org.apache.spark.sql.classic.Dataset  # type: ignore[union-attr]
    return DataFrame(datasets.ofRows(session._jsparkSession, analyzed), session)


def _read(session: SparkSession, table: Table) -> DataFrame:
    if table.catalog is not None:
        return session.table(table.catalog)
    return session.read.format("delta").load(str(table.path))


def scans_of(frame: DataFrame) -> Iterator[Any]:
    """Every relation with files, in sub-queries too."""
    execution: Any = frame._jdf.queryExecution()
    analyzed = execution.analyzed()
    for plan in (analyzed, *each(analyzed.subqueriesAll())):
        for leaf in each(plan.collectLeaves()):
            if leaf.getClass().getSimpleName() == "LogicalRelation":
                yield leaf


def folders_read(frame: DataFrame) -> list[str]:
    """The folder of every relation with files, as a plain path."""
    return [plain_path(location_of(leaf)) for leaf in scans_of(frame) if _of_files(leaf)]


def _of_files(leaf: Any) -> bool:
    from py4j.java_gateway import is_instance_of

    return bool(is_instance_of(SparkContext._gateway, leaf.relation(), _FILES))


def _only_scan(frame: DataFrame) -> Any:
    """The scan of a frame that does nothing but read the newest version of one Delta table; None for any other."""
    execution: Any = frame._jdf.queryExecution()
    node = execution.analyzed()
    while node.getClass().getSimpleName() in ("SubqueryAlias", "View"):
        node = node.children().apply(0)
    return node if node.getClass().getSimpleName() == "LogicalRelation" and newest_read(node) else None


def newest_read(leaf: Any) -> bool:
    """Whether a relation is the newest version of a Delta table."""
    if not _of_files(leaf):
        return False
    files = leaf.relation().location()
    return bool(files.getClass().getSimpleName() == "TahoeLogFileIndex" and not files.isTimeTravelQuery())


def location_of(leaf: Any) -> str:
    return str(leaf.relation().location().rootPaths().head().toString())


def _session_of(leaf: Any) -> Any:
    return leaf.relation().sqlContext().sparkSession()


def _not_applied(what: str) -> PolicyNotApplied:
    return PolicyNotApplied(
        what, where="frame", fix="build the frame inside `tuned(…).run(lambda session: …)`, from the session it gives"
    )
