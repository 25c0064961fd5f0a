"""What predicates usually skip, learned with Spark from every scan the store has seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.store.opened import open_sound

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A quarter of the well-pushed scans skip less than the threshold: what lies below is unusual, not merely below average.
QUANTILE = 0.25
AT_LEAST = 20
HIGHEST = 0.9  # a kind that always skipped everything must not make every other scan look bad

_ONE_SCAN = ["workload", "query_id", "binding", "scan", "table", "table_version", "table_class"]


def learned_thresholds(spark: SparkSession, root: str, at_least: int = AT_LEAST) -> dict[tuple[str, str], float]:
    """Per (table class, predicate family) with enough scans: the share of bytes that pushed predicates skip at least.

    Only scans whose predicates were all pushed teach anything; a query that runs every hour on an unchanged table
    counts once. A store without scans gives no thresholds: the defaults hold.
    """
    from delta.tables import DeltaTable
    from pyspark.sql import functions as F

    path = f"{root}/scan_outcomes"
    open_sound(root, "scan_outcomes")  # Spark would read a damaged table without an error, or fail
    if not DeltaTable.isDeltaTable(spark, path):
        return {}
    scans = spark.read.format("delta").load(path)
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
