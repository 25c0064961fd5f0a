"""A digest of a whole result, computed inside the execution that produces it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planopt_assets.model.trial import Digest, FloatSummary
from planopt_assets.observe.plans.normalise import DIGEST_NAME

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

_WIDE = "decimal(38,0)"  # sums of 64-bit hashes: no overflow below 10^19 rows


def with_digest(frame: DataFrame) -> DataFrame:
    """The same rows, with the digest as an observed metric. It needs no extra read, only a hash of each row.

    Spark's hash skips NULLs, so `(NULL, 5)` and `(5, NULL)` would be equal. So the NULL pattern is hashed too.
    """
    from pyspark.sql import functions as F

    types = [field.dataType for field in frame.schema.fields]
    plain = _with_unique_names(frame)
    taken = _columns(plain)
    exact, bits = _row_hashes(taken, types)
    metrics = [
        F.count(F.lit(1)).alias("rows"),
        *[aggregate.alias(name) for name, aggregate in (("exact_sum", _sum(exact)), ("exact_xor", F.bit_xor(exact)))],
        *[aggregate.alias(name) for name, aggregate in (("bits_sum", _sum(bits)), ("bits_xor", F.bit_xor(bits)))],
    ]
    for i in (i for i, kind in enumerate(types) if is_float(kind)):
        value = taken[i].cast("double")
        special = F.isnan(value) | value.isin(float("inf"), float("-inf"))
        finite = F.when(~special, value)
        metrics += [
            F.sum(finite).alias(f"f{i}_total"),
            F.sum(F.abs(finite)).alias(f"f{i}_magnitude"),
            F.count(F.when(special, 1)).alias(f"f{i}_specials"),
        ]
    return plain.observe(DIGEST_NAME, metrics[0], *metrics[1:])


def in_sequence(frame: DataFrame) -> DataFrame:
    """One hash per row, in the order of the rows, of a frame made by `with_digest`."""
    return frame.select(_row_hashes(_columns(frame), [field.dataType for field in frame.schema.fields])[1])


def sequence_of(hashes: DataFrame) -> tuple[int, str]:
    """Runs a frame of `in_sequence`: the number of rows, and a digest that depends on their order."""
    import hashlib

    import numpy as np

    found = np.array([row[0] for row in hashes.collect()], dtype=np.int64)
    return len(found), hashlib.blake2b(found.tobytes(), digest_size=16).hexdigest()


def _columns(frame: DataFrame) -> list[Column]:
    from pyspark.sql import functions as F

    return [F.col(f"`{name.replace('`', '``')}`") for name in frame.columns]


def _row_hashes(taken: list[Column], types: list[DataType]) -> tuple[Column, Column]:
    """Two hashes of a row: without its floating point, and of all bits."""
    from pyspark.sql import functions as F

    columns = [_hashable(column, kind) for column, kind in zip(taken, types, strict=True)]
    nulls = F.concat_ws("", F.lit(""), *[column.isNull().cast("int").cast("string") for column in taken])
    exact = [c for c, kind in zip(columns, types, strict=True) if not is_float(kind)]
    return F.xxhash64(nulls, *exact), F.xxhash64(nulls, *columns)


def _with_unique_names(frame: DataFrame) -> DataFrame:
    """Columns renamed by position if two have the same name. Otherwise the plan is exactly the user's."""
    names = frame.columns
    if len({name.lower() for name in names}) == len(names):
        return frame
    return frame.toDF(*[f"c{i}" for i in range(len(names))])


def read_digest(query_execution: Any, names: list[str], types: list[DataType], sequence: str | None = None) -> Digest:
    """The digest of a finished execution of a frame made by `with_digest`."""
    row = query_execution.observedMetrics().apply(DIGEST_NAME)
    cells = {row.schema().fieldNames()[i]: row.get(i) for i in range(row.length())}
    floats = tuple(
        FloatSummary(
            column=name,
            total=float(cells[f"f{i}_total"] or 0.0),
            magnitude=float(cells[f"f{i}_magnitude"] or 0.0),
            specials=int(cells[f"f{i}_specials"]),
        )
        for i, (name, kind) in enumerate(zip(names, types, strict=True))
        if is_float(kind)
    )
    return Digest(
        rows=int(cells["rows"]),
        exact=f"{cells['exact_sum']}/{cells['exact_xor']}",
        bits=f"{cells['bits_sum']}/{cells['bits_xor']}",
        floats=floats,
        sequence=sequence,
    )


def is_float(kind: DataType) -> bool:
    return kind.typeName() in ("double", "float")


def _sum(column: Column) -> Column:
    from pyspark.sql import functions as F

    return F.sum(column.cast(_WIDE))


def _hashable(column: Column, kind: DataType) -> Column:
    """Spark has no hash for maps: they are hashed as sorted JSON entries. Variants are hashed as JSON."""
    from pyspark.sql import functions as F

    text = kind.simpleString()
    if "map<" in text:
        if kind.typeName() == "map":
            return F.array_sort(F.transform(F.map_entries(column), lambda entry: F.to_json(entry)))
        return F.to_json(F.struct(column))
    return F.to_json(column) if "variant" in text else column
