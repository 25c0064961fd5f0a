"""A user's own workload, and the session the user brings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from planopt_assets.job import production_log
from planopt_assets.model.workload import Query, Workload
from planopt_tests.conftest import workload_of
from planopt_tests.job.user_job import (
    BUILDS,
    BY_SHOP,
    CITIES,
)


@pytest.fixture
def workload(spark: SparkSession, tables: Path) -> Workload:
    (tables / "jobs.py").write_text(BUILDS)
    queries = [
        Query("by_shop", sql=BY_SHOP),
        Query("cities", sql=CITIES),
        Query("one_shop", sql="SELECT count(*) AS n FROM sales WHERE shop = :shop", bindings=((("shop", 3),),)),
        Query("built", python="jobs:build", bindings=((("least", 5),),)),
    ]
    return workload_of(tables, queries, allow_python=True)


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """The user's own session: with a view, a function and a setting that nobody else knows."""
    made = spark.newSession()
    made.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    made.udf.register("twice", lambda n: n * 2, "long")
    made.sql("SELECT 1").collect()  # Delta sets up a session when it is first used
    yield made
    production_log._OPEN.clear()
