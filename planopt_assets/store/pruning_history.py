"""What predicates usually skip, learned with Spark from every scan the store has seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from planopt_assets.delta.place import place
from planopt_assets.model.location import Reach, reach
from planopt_assets.store.opened import first_line, open_sound, unread
from planopt_assets.store.schemas import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# A quarter of the well-pushed scans skip less than the threshold: what lies below is unusual, not merely below average.
QUANTILE = 0.25
AT_LEAST = 20
HIGHEST = 0.9  # a kind that always skipped everything must not make every other scan look bad

_TABLE = "scan_outcomes"
_ONE_SCAN = ["workload", "query_id", "binding", "scan", "table", "table_version", "table_class"]
_READ = [*_ONE_SCAN, "outcome", "families", "pruned_share"]


def learned_thresholds(spark: SparkSession, root: str, at_least: int = AT_LEAST) -> dict[tuple[str, str], float]:
    """Per (table class, predicate family) with enough scans: the share of bytes that pushed predicates skip at least.

    Only scans whose predicates were all pushed teach anything; a query that runs every hour on an unchanged table
    counts once. A store without scans gives no thresholds: the defaults hold.
    """
    from pyspark.sql import functions as F

    found = open_sound(root, _TABLE)  # Spark would read a damaged table without an error, or fail
    if found.table is None:
        return {}
    scans = _scans(spark, root, found.files)
    kinds = (
        scans.where((F.col("outcome") == "full_pushdown") & F.col("pruned_share").isNotNull())
        .select(*_ONE_SCAN, F.explode("families").alias("family"), "pruned_share")
        .groupBy(*_ONE_SCAN, "family")
        .agg(F.max("pruned_share").alias("share"))
        .groupBy("table_class", "family")
        .agg(F.count("*").alias("scans"), F.percentile("share", F.lit(QUANTILE)).alias("usual"))
        .where(F.col("scans") >= at_least)
        .orderBy("table_class", "family")
    )
    return {(row.table_class, row.family): min(row.usual, HIGHEST) for row in kinds.collect()}


def _scans(spark: SparkSession, root: str, files: Sequence[str]) -> DataFrame:
    """Object storage is read by delta-rs: Spark may have no file system for it."""
    location = f"{root}/{_TABLE}"
    if reach(location) is not Reach.OBJECTS:
        return spark.read.format("delta").load(location)
    try:
        rows = place(location).dataset(files, TABLES[_TABLE]).to_table(columns=_READ)
    except (OSError, pa.ArrowException) as error:
        raise unread(root, _TABLE, first_line(error), error) from error
    return spark.createDataFrame(rows)
