"""A Dagster project that is not planopt's: one asset, whose query runs under the policy in force."""

from __future__ import annotations

import os
from pathlib import Path

import dagster as dg
from dagster_pyspark import LazyPySparkResource

from planopt_assets.dagster import PlanoptResource

HERE = Path(__file__).parent


class Target(dg.ConfigurableResource):
    """Where the asset's table is written."""

    folder: str


@dg.asset(kinds={"spark", "deltalake"})
def sales_by_shop(pyspark: LazyPySparkResource, planopt: PlanoptResource, target: Target) -> dg.MaterializeResult:
    """How many sales each shop had; the text of the query is in `planopt.yaml`, under `sales_by_shop`."""
    path = f"{target.folder}/sales_by_shop"
    with planopt.tuned(pyspark.spark_session, "sales_by_shop") as query:
        query.sql().write.format("delta").mode("overwrite").save(path)
    return dg.MaterializeResult(metadata={"path": path, **query.facts()})


defs = dg.Definitions(
    assets=[sales_by_shop],
    resources={
        # The session of your own project, as it always was; Delta must be configured in it.
        "pyspark": LazyPySparkResource(spark_config={}),
        "planopt": PlanoptResource(workload=os.environ.get("PLANOPT_WORKLOAD", str(HERE / "planopt.yaml"))),
        "target": Target(folder=os.environ.get("TARGET", str(HERE / "out"))),
    },
)
