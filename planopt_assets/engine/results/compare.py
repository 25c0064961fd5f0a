"""Compares two results row by row inside Spark: for floating point, and for the order of ORDER BY.

Used once per candidate, right before it is accepted. Every trial was compared by digest before. Nothing is collected:
both results go to scratch files, and only the number of differing rows comes back.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from planopt_assets.engine.results.digest import _hashable, is_float
from planopt_assets.engine.results.ordering import sort_columns
from planopt_assets.errors import QueryFailed
from planopt_assets.validate.equality import ABSOLUTE, RELATIVE

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

_POSITION, _KEY, _PLACE = "position", "key", "place"


def difference(
    spark: SparkSession, expected: Callable[[], DataFrame], actual: Callable[[], DataFrame], scratch: str
) -> str:
    """The difference between two results, as text. Empty if there is none."""
    frame = expected()
    types = [f.dataType for f in frame.schema.fields]
    if [f.dataType for f in actual().schema.fields] != types:
        return "the columns have different types"
    order = sort_columns(frame)
    try:
        left = _kept(spark, frame, f"{scratch}/expected")
        right = _kept(spark, actual(), f"{scratch}/actual")
        return _content(left, right, types, frame.columns) or (
            _sequence(left, right, types, order) if order is not None else ""
        )
    except (Py4JJavaError, PySparkException) as error:
        words = str(error).strip().splitlines()[0][:300]
        raise QueryFailed(words, where=scratch, fix="check that the store's disk has space for two results") from error
    finally:
        if "://" not in scratch:
            shutil.rmtree(scratch, ignore_errors=True)


def _kept(spark: SparkSession, frame: DataFrame, path: str) -> DataFrame:
    """The result as files, each row with its position: ids grow over the partitions and within them."""
    from pyspark.sql import functions as F

    plain = frame.toDF(*[f"c{i}" for i in range(len(frame.columns))])
    plain.withColumn(_POSITION, F.monotonically_increasing_id()).write.mode("overwrite").parquet(path)
    return spark.read.parquet(path)


def _content(left: DataFrame, right: DataFrame, types: list[DataType], names: list[str]) -> str:
    """Rows with equal exact columns are paired in the order of their floating-point columns."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    floats = [i for i, kind in enumerate(types) if is_float(kind)]
    exact = [_hashable(F.col(f"c{i}"), kind) for i, kind in enumerate(types) if i not in floats]
    nulls = F.concat_ws("", F.lit(""), *[F.col(f"c{i}").isNull().cast("int").cast("string") for i in range(len(types))])
    window = Window.partitionBy(_KEY).orderBy(*[F.col(f"c{i}") for i in floats], F.lit(0))

    def keyed(frame: DataFrame, prefix: str) -> DataFrame:
        ranked = frame.withColumn(_KEY, F.xxhash64(nulls, *exact)).withColumn(_PLACE, F.row_number().over(window))
        return ranked.select(
            _KEY, _PLACE, *[F.col(f"c{i}").alias(f"{prefix}{i}") for i in floats], F.lit(1).alias(prefix)
        )

    both = keyed(left, "l").join(keyed(right, "r"), [_KEY, _PLACE], "full_outer")
    missing = F.col("l").isNull() | F.col("r").isNull()
    apart = [~_close(F.col(f"l{i}"), F.col(f"r{i}")) for i in floats]
    counts: Any = both.agg(
        F.count(F.when(missing, 1)).alias("missing"), *[F.count(F.when(~missing & a, 1)) for a in apart]
    ).head()
    if counts[0]:
        return f"{counts[0]:,} rows are only in one of the two results"
    differing = [f"column {names[i]}: {n:,} rows" for i, n in zip(floats, counts[1:], strict=True) if n]
    return "floating point differs beyond tolerance in " + ", ".join(differing) if differing else ""


def _sequence(left: DataFrame, right: DataFrame, types: list[DataType], order: tuple[int, ...]) -> str:
    """Row by row in the promised order. Rows that tie on every sort column may be in any order."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    columns = list(order) or list(range(len(types)))
    window = Window.orderBy(_POSITION)

    def placed(frame: DataFrame, prefix: str) -> DataFrame:
        ranked = frame.withColumn(_PLACE, F.row_number().over(window))
        return ranked.select(_PLACE, *[_hashable(F.col(f"c{i}"), types[i]).alias(f"{prefix}{i}") for i in columns])

    both = placed(left, "l").join(placed(right, "r"), _PLACE)
    same = [
        _close(F.col(f"l{i}"), F.col(f"r{i}")) if is_float(types[i]) else F.col(f"l{i}").eqNullSafe(F.col(f"r{i}"))
        for i in columns
    ]
    wrong = F.lit(False)
    for one in same:
        wrong = wrong | ~one
    counts: Any = both.agg(F.count(F.when(wrong, 1))).head()
    return f"{counts[0]:,} rows are not in the order of ORDER BY" if counts[0] else ""


def _close(left: Column, right: Column) -> Column:
    """Equal, both NULL, both NaN, or within the tolerance, relative to the larger value."""
    from pyspark.sql import functions as F

    scale = F.greatest(F.abs(left), F.abs(right))
    near = F.abs(left - right) <= F.greatest(F.lit(ABSOLUTE), scale * F.lit(RELATIVE))
    return left.eqNullSafe(right) | F.coalesce(near, F.lit(False))
