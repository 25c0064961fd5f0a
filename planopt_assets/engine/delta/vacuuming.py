"""VACUUM: deletes files that no version within the retention needs. Only on a person's word, never below retention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.errors import VacuumRefused

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def vacuum(spark: SparkSession, name: str, location: str) -> None:
    """The table's own retention is used: Delta 4.4 ignores another one, except 0, and that is never asked for."""
    from delta.tables import DeltaTable
    from pyspark.errors import PySparkException

    session = spark.newSession()
    session.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "true")
    session.conf.set("spark.sql.shuffle.partitions", str(session.sparkContext.defaultParallelism))  # it joins listings
    try:
        DeltaTable.forPath(session, location).vacuum()
    except PySparkException as error:
        raise VacuumRefused(
            (str(error).splitlines() or [""])[0],
            where=f"table {name}",
            fix="check the table's retention, and whether its files can be deleted",
        ) from error
