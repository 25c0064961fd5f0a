"""Appends a stage's rows through Spark: one commit per table, and never twice for the same run and stage."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from planopt_assets.crash_points import reached
from planopt_assets.errors import StoreWriteFailed
from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

Row = dict[str, Any]


def append(
    spark: SparkSession, root: str, *, workload: str, run_id: str, stage: str, rows: Mapping[str, Sequence[Row]]
) -> dict[str, int]:
    """Append `rows` (table -> rows) in the order given; a repeated call for the same run and stage changes nothing.

    Delta remembers the last transaction of an application id; `run:stage` is that id, so a retried step is skipped.
    """
    recorded_at = datetime.now(UTC)
    common = {"schema_version": SCHEMA_VERSION, "workload": workload, "run_id": run_id, "recorded_at": recorded_at}
    for table, new in rows.items():
        if new:
            write(spark, root, table, [{**common, **row} for row in new], app_id=f"planopt:{run_id}:{stage}", version=1)
            reached(f"after_{stage}_{table}")
    return {table: len(new) for table, new in rows.items()}


def write(spark: SparkSession, root: str, table: str, rows: Sequence[Row], *, app_id: str, version: int) -> None:
    """One commit of one table under a Delta transaction id: the same or an older version again is skipped."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    schema = TABLES[table]
    unknown = {name for row in rows for name in row} - set(schema.names)
    assert not unknown, f"columns not declared for {table}: {sorted(unknown)}"
    frame = spark.createDataFrame(pa.Table.from_pylist(list(rows), schema=schema))
    try:
        (
            frame.coalesce(1)
            .write.format("delta")
            .mode("append")
            .option("mergeSchema", "true")  # columns added since the table was made
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
