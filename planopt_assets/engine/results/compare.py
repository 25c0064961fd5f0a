"""Compares two results row by row inside Spark: for floating point, and for the order of ORDER BY.

Used once per candidate, right before it is accepted. Every trial was compared by digest before. Nothing is collected:
of both results the hashes and the floating point go to scratch files, and only counts of rows come back.
"""

from __future__ import annotations

from contextlib import suppress
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from planopt_assets.delta.place import place
from planopt_assets.engine.results.columns import columns_text, shortened
from planopt_assets.engine.results.float_leaves import float_leaves
from planopt_assets.engine.results.float_matching import KEY, POSITION, Tolerance, tolerances, unmatched
from planopt_assets.engine.results.lossless import hashed, parts
from planopt_assets.engine.results.ordering import sort_columns
from planopt_assets.errors import QueryFailed, ResultIncomparable
from planopt_assets.validate.equality import columns_differ

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame, SparkSession

_PLACE = "place"


def difference(
    spark: SparkSession, expected: Callable[[], DataFrame], actual: Callable[[], DataFrame], scratch: str
) -> str:
    """The difference between two results, as text. Empty if there is none."""
    frame, other = expected(), actual()
    wanted, found = columns_text(frame.schema), columns_text(other.schema)
    if wanted != found:
        return columns_differ(shortened(wanted), shortened(found))
    order = sort_columns(frame)
    sorted_by = None if order is None else order or tuple(range(len(frame.columns)))
    try:
        left = _kept(spark, frame, f"{scratch}/expected", sorted_by or ())
        right = _kept(spark, other, f"{scratch}/actual", sorted_by or ())
        limits = tolerances(left, float_leaves(frame.schema))
        return _content(left, right, limits) or ("" if sorted_by is None else _sequence(left, right, sorted_by, limits))
    except (Py4JJavaError, PySparkException) as error:
        words = str(error).strip().splitlines()[0][:300]
        raise QueryFailed(words, where=scratch, fix="check that the store's disk has space for two results") from error
    finally:
        kept = place(scratch)
        if kept.keeps_files:
            with suppress(OSError):
                kept.remove_folder("")


def _kept(spark: SparkSession, frame: DataFrame, path: str, sorted_by: tuple[int, ...]) -> DataFrame:
    """What is compared of each row, as files: a hash of what is exact, its floating point, and its position.

    Positions grow over the partitions and within them. A sort column is a hash too, but for strings with a collation:
    those that are equal in it tie.
    """
    from pyspark.sql import functions as F

    fields = frame.schema.fields
    plain = frame.toDF(*[f"c{i}" for i in range(len(fields))])
    taken = [F.col(f"c{i}") for i in range(len(fields))]
    marks = [part for c, field in zip(taken, fields, strict=True) for part in parts(c, field.dataType, floats=False)]
    floats = [leaf.values(taken[leaf.column]).alias(f"f{i}") for i, leaf in enumerate(float_leaves(frame.schema))]
    sort_keys = [
        taken[i] if fields[i].dataType.typeName() == "string" else hashed(taken[i], fields[i].dataType, floats=False)
        for i in sorted_by
    ]
    plain.select(
        F.monotonically_increasing_id().alias(POSITION),
        F.xxhash64(*marks).alias(KEY),
        *floats,
        *[key.alias(f"o{i}") for i, key in zip(sorted_by, sort_keys, strict=True)],
    ).write.mode("overwrite").parquet(path)
    return spark.read.parquet(path)


def _content(left: DataFrame, right: DataFrame, limits: list[Tolerance]) -> str:
    """Rows with equal exact values are paired in the order of their floating point.

    Last digits can change that order. So where a pair is apart, its rows are matched by tolerance before they count.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    window = Window.partitionBy(KEY).orderBy(*[F.col(limit.column) for limit in limits], F.lit(0))

    def ranked(frame: DataFrame, prefix: str) -> DataFrame:
        values = [F.col(limit.column).alias(prefix + limit.column) for limit in limits]
        return frame.withColumn(_PLACE, F.row_number().over(window)).select(
            KEY, _PLACE, *values, F.lit(1).alias(prefix)
        )

    both = ranked(left, "l").join(ranked(right, "r"), [KEY, _PLACE], "full_outer")
    missing = F.col("l").isNull() | F.col("r").isNull()
    apart = [~limit.close(F.col(f"l{limit.column}"), F.col(f"r{limit.column}")) for limit in limits]
    counts: Any = both.agg(F.count(F.when(missing, 1)), *[F.count(F.when(~missing & a, 1)) for a in apart]).head()
    if counts[0]:
        return f"{counts[0]:,} rows are only in one of the two results"
    differing = [f"column {limit.name}: {n:,} rows" for limit, n in zip(limits, counts[1:], strict=True) if n]
    if not differing:
        return ""
    doubtful = both.filter(reduce(or_, apart)).select(KEY).distinct()
    rows, unclear = unmatched(left.join(doubtful, KEY, "left_semi"), right.join(doubtful, KEY, "left_semi"), limits)
    if not rows and unclear:
        raise ResultIncomparable(
            f"rows differ only in floating point ({', '.join(differing)}), and their values lie too close together",
            where="result",
            fix="add a column to the result that tells its rows apart",
        )
    return "floating point differs beyond tolerance in " + ", ".join(differing) if rows else ""


def _sequence(left: DataFrame, right: DataFrame, sorted_by: tuple[int, ...], limits: list[Tolerance]) -> str:
    """Row by row in the promised order. Rows that tie on every sort column may be in any order."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    window = Window.orderBy(POSITION)
    keys = [f"o{i}" for i in sorted_by]
    floats = [limit for limit in limits if limit.of in sorted_by]

    def placed(frame: DataFrame, prefix: str) -> DataFrame:
        names = [*keys, *(limit.column for limit in floats)]
        return frame.withColumn(_PLACE, F.row_number().over(window)).select(
            _PLACE, *[F.col(name).alias(prefix + name) for name in names]
        )

    both = placed(left, "l").join(placed(right, "r"), _PLACE)
    wrong: list[Column] = [~F.col(f"l{name}").eqNullSafe(F.col(f"r{name}")) for name in keys]
    wrong += [~limit.close(F.col(f"l{limit.column}"), F.col(f"r{limit.column}")) for limit in floats]
    counts: Any = both.agg(F.count(F.when(reduce(or_, wrong), 1))).head()
    return f"{counts[0]:,} rows are not in the order of ORDER BY" if counts[0] else ""
