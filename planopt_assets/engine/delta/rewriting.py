"""A layout put on a table, or on the clone of a trial: Delta's own commands, in a session of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planopt_assets.delta.log_files import LogFiles
from planopt_assets.delta.own_commits import FileChange, marked_commits
from planopt_assets.engine.delta.failures import ATTEMPTS, conflicts, failures, first_line, repeated
from planopt_assets.engine.delta.own_session import cluster_by, marked_session, set_properties
from planopt_assets.engine.delta.table_size import table_size
from planopt_assets.engine.jvm.active_session import active
from planopt_assets.errors import MaintenanceConflict, MaintenanceFailed
from planopt_assets.store.crash_points import reached

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from planopt_assets.model.layout_proposal import LayoutProposal

_BLOOM = "parquet.bloom.filter.enabled"
_BLOOM_VALUES = "parquet.bloom.filter.expected.ndv"  # without it, each filter has 1 MiB, whatever it holds


def rewrite(
    spark: SparkSession, location: str, layout: LayoutProposal, action_id: str
) -> tuple[FileChange | None, int]:
    """Put a layout on a table; what its commits did (None: there was nothing to do), and the attempts it took.

    Writers go on meanwhile. Delta commits a rewrite only if nobody deleted or updated rows of the files that were
    rewritten. Else it is tried again on the new version, at most `ATTEMPTS` times; an append never stands in the way.

    Properties and clustering columns are a commit of their own, made once and before the files: if the rewrite fails
    they are on the table, and whoever called this takes them back.
    """
    before = LogFiles(layout.table, location).newest()
    tried = 0
    try:
        session = _session(spark, layout, action_id)
        with active(session):
            if layout.properties or layout.action == "cluster":
                repeated(lambda: _set(session, location, layout))
                reached("after_layout_settings")
            tried = repeated(lambda: _change(session, location, layout))
    except conflicts() as error:
        raise MaintenanceConflict(
            f"other writers changed the same files in each of {ATTEMPTS} attempts: {first_line(error)}",
            where=f"table {layout.table}",
            fix="run it at an hour when nobody updates or deletes",
        ) from error
    except failures() as error:
        raise MaintenanceFailed(
            f"{layout.describe()} failed: {first_line(error)}",
            where=f"table {layout.table}",
            fix="no row was lost; check the free disk space and the error above",
        ) from error
    return marked_commits(location, before, action_id), tried


def _session(spark: SparkSession, layout: LayoutProposal, action_id: str) -> SparkSession:
    session = marked_session(spark, action_id)
    if layout.target_file_bytes:
        for limit in ("minFileSize", "maxFileSize"):
            session.conf.set(f"spark.databricks.delta.optimize.{limit}", str(layout.target_file_bytes))
    if layout.action == "bloom":
        rows = layout.rows
        for column in layout.columns:
            session.conf.set(f"{_BLOOM}#{column}", "true")
            if rows:
                session.conf.set(f"{_BLOOM_VALUES}#{column}", str(-(-rows // max(1, layout.files_before))))
        # Files are written as they are read: none is packed with another.
        session.conf.set("spark.sql.files.openCostInBytes", str(session.conf.get("spark.sql.files.maxPartitionBytes")))
    return session


def _set(session: SparkSession, location: str, layout: LayoutProposal) -> None:
    """Before the files: their statistics are collected, and their rows sorted, by what is set."""
    from delta.tables import DeltaTable

    table = DeltaTable.forPath(session, location)
    if layout.properties:
        set_properties(session, table, dict(layout.properties))
    if layout.action == "cluster":
        cluster_by(session, table, layout.columns)


def _change(session: SparkSession, location: str, layout: LayoutProposal) -> None:
    from delta.tables import DeltaTable

    table = DeltaTable.forPath(session, location)
    steps: dict[str, Callable[[], Any]] = {
        "compact": lambda: table.optimize().executeCompaction(),
        "bloom": lambda: _write_anew(session, location),
        "zorder": lambda: table.optimize().executeZOrderBy(*layout.columns),
        "cluster": lambda: _optimize_every_file(session, table),
        "statistics": lambda: _collect_statistics(session, table),
        "checkpoint": lambda: _log(table).checkpoint(),
        "properties": lambda: None,
    }
    steps[layout.action]()


def _write_anew(session: SparkSession, location: str) -> None:
    """Every row again, into as many files: OPTIMIZE leaves files alone that are large enough.

    Delta's own way to rewrite without a change of data. It conflicts as OPTIMIZE does.
    """
    files = max(1, table_size(session, location).files)
    rows = session.read.format("delta").load(location).coalesce(files)
    rows.write.format("delta").mode("overwrite").option("dataChange", "false").save(location)


def _optimize_every_file(session: SparkSession, table: Any) -> None:
    """`OPTIMIZE FULL`, which the Python API does not know.

    Without FULL, Delta leaves files alone that were clustered before, also by other columns.
    """
    jvm: Any = session._jvm
    commands: Any = jvm.org.apache.spark.sql.delta.commands
    none, nothing = jvm.scala.Option.empty(), jvm.org.apache.spark.api.python.PythonUtils.toSeq([])
    full = commands.DeltaOptimizeContext(none, none, none, none, True)
    of_catalog, snapshot = table._jdt.table().catalogTable(), _log(table).update(False, none, none)
    executor = commands.OptimizeExecutor
    executor(session._jsparkSession, snapshot, of_catalog, nothing, nothing, False, full).optimize()


def _collect_statistics(session: SparkSession, table: Any) -> None:
    """Statistics of every file anew, by the properties that are in force now; no data file is written."""
    jvm: Any = session._jvm
    collection: Any = getattr(getattr(jvm.org.apache.spark.sql.delta.stats, "StatisticsCollection$"), "MODULE$")
    everything, every_file = (getattr(collection, f"recompute$default${place}")() for place in (4, 5))
    of_catalog = table._jdt.table().catalogTable()
    collection.recompute(session._jsparkSession, _log(table), of_catalog, everything, every_file)


def _log(table: Any) -> Any:
    return table._jdt.table().deltaLog()
