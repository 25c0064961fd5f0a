"""A layout put on a table, or on the clone of a trial: Delta's own commands, in a session of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tenacity import RetryCallState, retry, retry_if_exception_type, stop_after_attempt, wait_random

from planopt_assets.delta.log_files import LogFiles
from planopt_assets.delta.own_commits import FileChange, marked_commits
from planopt_assets.engine.delta.own_session import marked_session, set_properties
from planopt_assets.engine.delta.table_size import table_size
from planopt_assets.engine.jvm.active_session import active
from planopt_assets.errors import MaintenanceConflict, MaintenanceFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from planopt_assets.model.layout_proposal import LayoutProposal

ATTEMPTS = 4
_BLOOM = "parquet.bloom.filter.enabled"


def rewrite(
    spark: SparkSession, location: str, layout: LayoutProposal, action_id: str
) -> tuple[FileChange | None, int]:
    """Put a layout on a table; what its commits did (None: there was nothing to do), and the attempts it took.

    Writers go on meanwhile. Delta commits a rewrite only if nobody deleted or updated rows of the files that were
    rewritten. Else it is tried again on the new version, at most `ATTEMPTS` times; an append never stands in the way.
    """
    from pyspark.errors import PySparkException

    conflicts = _conflicts()
    before = LogFiles(layout.table, location).newest()
    session = _session(spark, layout, action_id)
    tried = 0

    @retry(
        retry=retry_if_exception_type(conflicts),
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_random(0.1, 1.0),
        reraise=True,
        before=lambda state: _count(state),
    )
    def change() -> None:
        with active(session):
            _change(session, location, layout)

    def _count(state: RetryCallState) -> None:
        nonlocal tried
        tried = state.attempt_number

    try:
        change()
    except conflicts as error:
        raise MaintenanceConflict(
            f"other writers changed the same files in each of {tried} attempts: {_first_line(error)}",
            where=f"table {layout.table}",
            fix="run it at an hour when nobody updates or deletes, or on fewer partitions",
        ) from error
    except PySparkException as error:
        raise MaintenanceFailed(
            f"{layout.describe()} failed: {_first_line(error)}",
            where=f"table {layout.table}",
            fix="the table is as it was; check the free disk space and the error above",
        ) from error
    return marked_commits(location, before, action_id), tried


def _conflicts() -> tuple[type[Exception], ...]:
    """Delta's errors for a commit that others were faster than; in Python they have no base of their own."""
    from delta import exceptions

    return (
        exceptions.ConcurrentAppendException,
        exceptions.ConcurrentDeleteDeleteException,
        exceptions.ConcurrentDeleteReadException,
        exceptions.ConcurrentTransactionException,
        exceptions.ConcurrentWriteException,
        exceptions.DeltaConcurrentModificationException,
    )


def _session(spark: SparkSession, layout: LayoutProposal, action_id: str) -> SparkSession:
    session = marked_session(spark, action_id)
    if layout.target_file_bytes:
        for limit in ("minFileSize", "maxFileSize"):
            session.conf.set(f"spark.databricks.delta.optimize.{limit}", str(layout.target_file_bytes))
    if layout.action == "bloom":
        for column in layout.columns:
            session.conf.set(f"{_BLOOM}#{column}", "true")
    return session


def _change(session: SparkSession, location: str, layout: LayoutProposal) -> None:
    """Properties first: statistics of new files are collected by those of the table."""
    from delta.tables import DeltaTable

    table = DeltaTable.forPath(session, location)
    if layout.properties:
        set_properties(session, table, dict(layout.properties))
    steps: dict[str, Callable[[], Any]] = {
        "compact": lambda: _optimize(table, layout).executeCompaction(),
        "bloom": lambda: _write_anew(session, location),
        "zorder": lambda: _optimize(table, layout).executeZOrderBy(*layout.columns),
        "cluster": lambda: _cluster(session, table, layout),
        "statistics": lambda: _collect_statistics(session, table),
        "checkpoint": lambda: _log(table).checkpoint(),
        "properties": lambda: None,
    }
    steps[layout.action]()


def _optimize(table: Any, layout: LayoutProposal) -> Any:
    builder = table.optimize()
    return builder.where(layout.only_where) if layout.only_where else builder


def _write_anew(session: SparkSession, location: str) -> None:
    """Every row again, into as many files: OPTIMIZE leaves files alone that are large enough.

    Delta's own way to rewrite without a change of data. It conflicts as OPTIMIZE does.
    """
    files = max(1, table_size(session, location).files)
    rows = session.read.format("delta").load(location).coalesce(files)
    rows.write.format("delta").mode("overwrite").option("dataChange", "false").save(location)


def _cluster(session: SparkSession, table: Any, layout: LayoutProposal) -> None:
    """The columns, then every file: the Python API knows neither `ALTER TABLE CLUSTER BY` nor `OPTIMIZE FULL`."""
    jvm: Any = session._jvm
    sequence = jvm.org.apache.spark.api.python.PythonUtils.toSeq
    columns = sequence([sequence(name.split(".")) for name in layout.columns])
    commands = jvm.org.apache.spark.sql.delta.commands
    commands.AlterTableClusterByDeltaCommand(table._jdt.table(), columns).run(session._jsparkSession)
    table.optimize().executeCompaction()


def _collect_statistics(session: SparkSession, table: Any) -> None:
    """Statistics of every file anew, by the properties that are in force now; no data file is written."""
    jvm: Any = session._jvm
    collection: Any = getattr(getattr(jvm.org.apache.spark.sql.delta.stats, "StatisticsCollection$"), "MODULE$")
    everything, every_file = (getattr(collection, f"recompute$default${place}")() for place in (4, 5))
    of_catalog = table._jdt.table().catalogTable()
    collection.recompute(session._jsparkSession, _log(table), of_catalog, everything, every_file)


def _log(table: Any) -> Any:
    return table._jdt.table().deltaLog()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
