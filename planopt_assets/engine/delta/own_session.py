"""Sessions in which planopt changes a user's table: their commits have its mark. Properties and clustering columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planopt_assets.delta.own_commits import mark_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession


def marked_session(spark: SparkSession, action_id: str) -> SparkSession:
    """A session whose commits have the mark of an action."""
    session = spark.newSession()
    session.conf.set("spark.databricks.delta.commitInfo.userMetadata", mark_of(action_id))
    return session


def set_properties(session: SparkSession, table: Any, properties: dict[str, str]) -> None:
    jvm: Any = session._jvm
    wanted = jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(properties)
    commands = jvm.org.apache.spark.sql.delta.commands
    commands.AlterTableSetPropertiesDeltaCommand(table._jdt.table(), wanted).run(session._jsparkSession)


def unset_properties(session: SparkSession, table: Any, names: Sequence[str]) -> None:
    jvm: Any = session._jvm
    unwanted = jvm.org.apache.spark.api.python.PythonUtils.toSeq(list(names))
    commands = jvm.org.apache.spark.sql.delta.commands
    command = commands.AlterTableUnsetPropertiesDeltaCommand(table._jdt.table(), unwanted, True, False)
    command.run(session._jsparkSession)


def cluster_by(session: SparkSession, table: Any, columns: Sequence[str]) -> None:
    """The columns by which later rewrites sort the rows; none: they are not sorted. No file is changed."""
    jvm: Any = session._jvm
    sequence = jvm.org.apache.spark.api.python.PythonUtils.toSeq
    names = sequence([sequence(name.split(".")) for name in columns])
    commands = jvm.org.apache.spark.sql.delta.commands
    commands.AlterTableClusterByDeltaCommand(table._jdt.table(), names).run(session._jsparkSession)
