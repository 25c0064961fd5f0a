"""Where two results are kept while they are compared: files that every executor writes and reads, soon deleted."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError

from planopt_assets.errors import ResultIncomparable
from planopt_assets.model.location import is_folder, scheme_and_rest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = "_scratch"


def scratch_folder(spark: SparkSession, store: str, name: str) -> str:
    """In the store, where Spark can reach it. A local Spark that cannot uses a temporary folder of this machine."""
    if is_folder(store) or _knows(spark, store):
        return f"{store}/{FOLDER}/{name}"
    if str(spark.sparkContext.master).startswith("local"):
        return f"{tempfile.gettempdir()}/planopt-scratch-{name}"
    raise ResultIncomparable(
        f"Spark has no file system for {store}, where the results would be kept while they are compared",
        where="result",
        fix="add the jars of its file system to Spark (for S3 `hadoop-aws`, and write `s3a://`), see docs/cluster.md",
    )


def _knows(spark: SparkSession, location: str) -> bool:
    jvm: Any = spark._jvm
    configuration: Any = spark._jsparkSession.sessionState().newHadoopConf()
    try:
        jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme_and_rest(location)[0], configuration)
    except Py4JJavaError:  # no such scheme, or its class is in no jar
        return False
    return True
