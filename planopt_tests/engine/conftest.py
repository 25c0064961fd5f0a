"""One Spark session with Delta for the tests of the engine."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from planopt_assets.engine.jars import delta_jars


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    settings = {
        "spark.jars": ",".join(delta_jars()),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.legacy.parameterSubstitution.constantsOnly": "true",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.pyspark.python": sys.executable,
    }
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    yield session
    session.stop()
