"""Queries and policies of a user's own job, and what it left behind."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from planopt_assets.model.policy import Policy
from planopt_assets.model.workload import Workload
from planopt_tests.stored_rows import StoredRows

BY_SHOP = "SELECT shop, count(*) AS n FROM sales GROUP BY shop"
CITIES = "SELECT p.city, count(*) AS n FROM sales s JOIN shops p ON s.shop = p.shop GROUP BY p.city"
THREE = Policy.of({"spark.sql.shuffle.partitions": "3"})
SPLITS = Policy.of({"spark.sql.files.openCostInBytes": "1", "spark.sql.files.minPartitionNum": "1"})
ARROW_ON = Policy.of({"spark.sql.execution.pythonUDF.arrow.enabled": "true"})
MERGED = Policy.of(hints=["merge(join0.right p)"])
BUILDS = """
from pathlib import Path

def build(spark, least):
    with (Path(__file__).parent / "calls").open("a") as calls:
        calls.write(spark.conf.get("spark.sql.shuffle.partitions"))
    return spark.table("sales").where(f"shop >= {least}").groupBy("shop").count()
"""


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())  # type: ignore[operator]


def splits_of(frame: DataFrame) -> int:
    plan: Any = frame._jdf.queryExecution().executedPlan()  # type: ignore[operator]
    plan = plan.initialPlan() if plan.nodeName() == "AdaptiveSparkPlan" else plan
    return int(plan.collectLeaves().head().inputRDD().getNumPartitions())


def production(workload: Workload) -> list[dict[str, Any]]:
    rows = StoredRows(workload.store, workload.name).rows("runtime_counters")
    return [r for r in rows if r["purpose"] == "production"]


def counts(frame: DataFrame) -> dict[Any, int]:
    return {row[0]: row[1] for row in frame.collect()}
