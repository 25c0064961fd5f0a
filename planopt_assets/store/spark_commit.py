"""One commit to a table through Spark, which has access to object stores and a log store for each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.errors import StoreWriteFailed
from planopt_assets.store.opened import unchecked
from planopt_assets.store.sequence import last_number_of, numbered
from planopt_assets.store.write_profile import COMPRESSION

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


def commit_through_spark(
    spark: SparkSession, root: str, table: str, rows: pa.Table, *, app_id: str, version: int, after: int
) -> None:
    """Append rows with a number after this one. Delta skips a transaction with this or an older version.

    Spark commits after others that came in between, so two writers at the same moment may have one number.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        (
            spark.createDataFrame(_numbered(root, table, rows, after))
            .coalesce(1)
            .write.format("delta")
            .mode("append")
            .option("mergeSchema", "true")  # columns added since the table was made
            .option("compression", COMPRESSION.lower())
            .option("txnAppId", app_id)
            .option("txnVersion", version)
            .save(f"{root}/{table}")
        )
    except (Py4JJavaError, PySparkException) as error:
        raise StoreWriteFailed(
            f"could not append to {table}: {str(error).strip().splitlines()[0][:300]}",
            where=root,
            fix="check that the store can be written and has space, then run again: nothing was half-written",
        ) from error


def _numbered(root: str, name: str, rows: pa.Table, after: int) -> pa.Table:
    table = unchecked(root, name)
    try:
        own = last_number_of(table) if table is not None else 0
    except OSError:
        own = 0  # Spark is about to say what is wrong with the table
    return numbered(rows, max(after, own))[0]
