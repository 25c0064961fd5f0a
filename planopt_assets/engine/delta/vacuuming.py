"""VACUUM: deletes files that no version within the retention needs. Only on a person's word, never below retention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.engine.delta.failures import failures, first_line
from planopt_assets.engine.jvm.active_session import active
from planopt_assets.errors import VacuumRefused

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Delta lists a table's folders in so many tasks, however few folders there are. Spark's default is 10,000: on two cores
# VACUUM of a table with one folder then takes 69 s of CPU instead of 5.
_LISTING = "spark.sql.sources.parallelPartitionDiscovery.parallelism"


def vacuum(spark: SparkSession, name: str, location: str) -> None:
    """The table's own retention is used: Delta 4.4 ignores another one, except 0, and that is never asked for."""
    from delta.tables import DeltaTable

    try:
        session = spark.newSession()
        session.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "true")
        cores = str(session.sparkContext.defaultParallelism)
        session.conf.set("spark.sql.shuffle.partitions", cores)  # it joins listings
        session.conf.set(_LISTING, cores)
        with active(session):
            DeltaTable.forPath(session, location).vacuum()
    except failures() as error:
        raise VacuumRefused(
            first_line(error),
            where=f"table {name}",
            fix="check the table's retention, and whether its files can be deleted",
        ) from error
