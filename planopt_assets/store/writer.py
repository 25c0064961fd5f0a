"""Appends rows: one commit per table, and never twice for the same run and stage.

A store in a folder or in object storage is written without Spark. Any other needs Spark, which is opened only then.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from planopt_assets.model.location import Reach, reach
from planopt_assets.model.redaction import redact_rows
from planopt_assets.store.crash_points import reached
from planopt_assets.store.delta_rs_commit import commit_through_delta_rs
from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES
from planopt_assets.store.sequence import last_number
from planopt_assets.store.spark_commit import commit_through_spark

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

Row = dict[str, Any]
Spark = Callable[[], "SparkSession"]


def append(
    spark: Spark, root: str, *, workload: str, run_id: str, stage: str, rows: Mapping[str, Sequence[Row]]
) -> dict[str, int]:
    """Append `rows` (table -> rows) in the order given, without secrets; a repeated call changes nothing.

    Delta remembers the last transaction of an application id; `run:stage` is that id, so a retried step is skipped.
    """
    shared = common(workload, run_id)
    after = last_number(root)
    for table, new in redact_rows(rows).items():
        if new:
            whole = [{**shared, **row} for row in new]
            write(spark, root, table, whole, app_id=f"planopt:{run_id}:{stage}", version=1, after=after)
            reached(f"after_{stage}_{table}")
    return {table: len(new) for table, new in rows.items()}


def common(workload: str, run_id: str) -> Row:
    """The columns that every row has."""
    now = datetime.now(UTC)
    return {"schema_version": SCHEMA_VERSION, "workload": workload, "run_id": run_id, "recorded_at": now}


def write(
    spark: Spark,
    root: str,
    table: str,
    rows: Sequence[Row],
    *,
    app_id: str,
    version: int,
    after: int | None = None,
) -> None:
    """One commit of one table under a Delta transaction id: the same or an older version again is skipped.

    `after` is the last number that the store is known to have; if it is not given, the store is asked.
    """
    schema = TABLES[table]
    unknown = {name for row in rows for name in row} - set(schema.names)
    assert not unknown, f"columns not declared for {table}: {sorted(unknown)}"
    new = pa.Table.from_pylist(list(rows), schema=schema)
    seen = last_number(root) if after is None else after
    if reach(root) is Reach.HADOOP:
        commit_through_spark(spark(), root, table, new, app_id=app_id, version=version, after=seen)
    else:
        commit_through_delta_rs(root, table, new, app_id=app_id, version=version, after=seen)
