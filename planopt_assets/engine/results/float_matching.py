"""Which rows of two results are the same within the tolerance of their floating point."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from planopt_assets.validate.equality import of_the_column, relative

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from planopt_assets.engine.results.float_leaves import FloatLeaf

KEY, POSITION = "key", "position"
_CHAIN = 8  # tolerances that neighbours may span together before they say nothing about each other


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far two values of one floating-point place may be apart. The scale is that of the place, never a constant."""

    column: str  # where a kept result has its values
    of: int  # position of the column in the result
    name: str
    many: bool
    relative: float
    absolute: float

    def width(self, left: Column, right: Column) -> Column:
        from pyspark.sql import functions as F

        return F.greatest(F.lit(self.absolute), F.greatest(F.abs(left), F.abs(right)) * self.relative)

    def close(self, left: Column, right: Column) -> Column:
        """All values of one row; both rows hold equally many, for their exact hashes are equal."""
        from pyspark.sql import functions as F

        if not self.many:
            return F.coalesce(F.abs(left - right) <= self.width(left, right), F.lit(False))
        near = F.zip_with(left, right, lambda a, b: F.coalesce(F.abs(a - b) <= self.width(a, b), F.lit(False)))
        return F.coalesce(F.forall(near, lambda one: one), F.lit(False))


def tolerances(kept: DataFrame, leaves: list[FloatLeaf]) -> list[Tolerance]:
    """One per floating-point place, scaled by the mean magnitude of its values in a result."""
    from pyspark.sql import functions as F

    if not leaves:
        return []
    metrics: list[Column] = []
    for number, leaf in enumerate(leaves):
        values = F.col(f"f{number}")
        if leaf.many:
            sums = F.aggregate(values, F.lit(0.0), lambda total, one: total + F.abs(one))
            metrics += [F.sum(sums), F.sum(F.size(values))]
        else:
            metrics += [F.sum(F.abs(values)), F.count(values)]
    found: Any = kept.agg(*metrics).head()
    means = [(found[2 * i] or 0.0) / (found[2 * i + 1] or 1) for i in range(len(leaves))]
    return [
        Tolerance(
            f"f{number}",
            leaf.column,
            leaf.name,
            leaf.many,
            relative(leaf.single),
            of_the_column(leaf.single) * mean if mean < float("inf") else 0.0,
        )
        for number, (leaf, mean) in enumerate(zip(leaves, means, strict=True))
    ]


def unmatched(left: DataFrame, right: DataFrame, limits: list[Tolerance]) -> tuple[int, bool]:
    """The number of rows that have no partner, and whether some could not be told apart.

    Values of both results at one place are sorted together and split wherever two neighbours are further apart than
    the tolerance. Rows that fall into the same groups at every place are the same. Two rows within tolerance always do.

    Worked: 1.0 and 1.0000000001 are one group, 1.1 is another. In a long chain of neighbours the ends are far apart:
    such a group tells nothing.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    place = ["at", "item"]
    values = left.select(KEY, POSITION, F.lit(1).alias("side"), _values(limits)).unionAll(
        right.select(KEY, POSITION, F.lit(-1).alias("side"), _values(limits))
    )
    long = values.select(KEY, POSITION, "side", F.inline("values").alias(*place, "value"))
    in_order = Window.partitionBy(KEY, *place).orderBy("value")
    before, value = F.lag("value").over(in_order), F.col("value")
    split = _any(limits, lambda limit: value - before > limit.width(value, before))
    grouped = long.withColumn("split", F.coalesce(split, F.lit(False)).cast("int")).withColumn(
        "group", F.sum("split").over(in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    )
    group = Window.partitionBy(KEY, *place, "group")
    low, high = F.min("value").over(group), F.max("value").over(group)
    wide = _any(limits, lambda limit: high - low > _CHAIN * limit.width(low, high))
    # A row without any value has no line here, but its exact hash has a pair already.
    rows = (
        grouped.withColumn("wide", wide)
        .groupBy(KEY, "side", POSITION)
        .agg(F.sum(F.xxhash64(*place, "group").cast("decimal(38,0)")).alias("groups"), F.bool_or("wide").alias("wide"))
    )
    counts = rows.groupBy(KEY, "groups").agg(F.abs(F.sum("side")).alias("rest"), F.bool_or("wide").alias("wide"))
    found: Any = counts.agg(F.sum("rest"), F.bool_or("wide")).head()
    return int(found[0] or 0), bool(found[1])


def _values(limits: list[Tolerance]) -> Column:
    """All floating point of a row: at which place, which item there, and its value."""
    from pyspark.sql import functions as F

    def at_place(at: int, limit: Tolerance) -> Column:
        def one(value: Column, item: Column) -> Column:
            return F.struct(F.lit(at).alias("at"), item.alias("item"), value.alias("value"))

        values = F.col(limit.column)
        return F.transform(values, one) if limit.many else F.array(one(values, F.lit(0)))

    return F.concat(*[at_place(at, limit) for at, limit in enumerate(limits)]).alias("values")


def _any(limits: list[Tolerance], holds: Any) -> Column:
    """Whether it holds by the tolerance of the line's own place."""
    from pyspark.sql import functions as F

    return reduce(or_, [(F.col("at") == at) & holds(limit) for at, limit in enumerate(limits)])
