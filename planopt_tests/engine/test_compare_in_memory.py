"""Two large results are compared inside Spark: their rows come neither to Python nor to Spark's driver."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from planopt_assets.engine.results.compare import difference
from planopt_tests.engine.memory_probe import MemoryProbe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

ROWS, WIDTH = 250_000, 320
LARGE = ROWS * WIDTH  # 80 MB
SMALL = LARGE // 4
"""More than tasks tell about themselves and a broadcast join may hold, and much less than the result."""


def result(spark: SparkSession) -> DataFrame:
    return spark.range(ROWS).select("id", (F.col("id") / 7).alias("share"), F.repeat(F.lit("x"), WIDTH).alias("text"))


def test_comparing_brings_no_rows_to_python_or_the_driver(spark: SparkSession, tmp_path: Path) -> None:
    """The same rows the other way round: they are compared by content and then by place, up to the last."""
    up, down = result(spark).orderBy("share"), result(spark).orderBy(F.desc("share"))
    with MemoryProbe(spark) as probe:
        found = difference(spark, lambda: up, lambda: down, str(tmp_path / "scratch"))
    assert found == f"{ROWS:,} rows are not in the order of ORDER BY"
    assert probe.tasks > 0
    assert (probe.grown < SMALL, probe.sent < SMALL) == (True, True), (probe.grown, probe.sent)


def test_the_probe_notices_a_result_that_is_collected(spark: SparkSession) -> None:
    with MemoryProbe(spark) as probe:
        rows = result(spark).toArrow().num_rows
    assert rows == ROWS
    # Beyond the limit of the test above; not all of it, since a busy system takes pages away meanwhile.
    assert (probe.grown > SMALL, probe.sent > LARGE) == (True, True), (probe.grown, probe.sent)
