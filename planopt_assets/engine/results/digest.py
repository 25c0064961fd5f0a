"""A digest of a whole result, computed inside the execution that produces it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planopt_assets.engine.results.columns import columns_text, shortened
from planopt_assets.engine.results.float_leaves import FloatLeaf, float_leaves
from planopt_assets.engine.results.lossless import parts
from planopt_assets.model.trial import DIGEST_FORM, Digest, FloatSummary
from planopt_assets.observe.plans.normalise import DIGEST_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

# A sum of 64-bit hashes is taken in three pieces: no piece overflows below 2^41 rows, and no decimal is needed.
_PIECES = ((0, 22), (22, 21), (43, 21))  # first bit, number of bits


def with_digest(frame: DataFrame) -> DataFrame:
    """The same rows, with the digest as an observed metric. It needs no extra read, only a hash of each row."""
    plain = _with_unique_names(frame)
    metrics = digest_metrics(plain.schema)
    return plain.observe(DIGEST_NAME, metrics[0], *metrics[1:])


def digest_metrics(schema: StructType) -> list[Column]:
    """The aggregates that make a digest, over columns of different names."""
    from pyspark.sql import functions as F

    taken, leaves = _columns(schema.names), float_leaves(schema)
    exact, bits = _row_hashes(taken, schema, leaves)
    metrics = [F.count(F.lit(1)).alias("rows"), *_sums("exact", exact)]
    if leaves:
        metrics += _sums("bits", bits)
    for number, leaf in enumerate(leaves):
        values = leaf.values(taken[leaf.column])
        metrics += [
            F.sum(_added(values, leaf)).alias(f"f{number}_total"),
            F.sum(_added(values, leaf, absolute=True)).alias(f"f{number}_magnitude"),
        ]
    return metrics


def in_sequence(frame: DataFrame) -> DataFrame:
    """One hash per row, in the order of the rows, of a frame made by `with_digest`."""
    return frame.select(_row_hashes(_columns(frame.columns), frame.schema, float_leaves(frame.schema))[1])


def sequence_of(hashes: DataFrame) -> tuple[int, str]:
    """Runs a frame of `in_sequence`: the number of rows, and a digest that depends on their order."""
    import hashlib

    import numpy as np

    found = np.array([row[0] for row in hashes.collect()], dtype=np.int64)
    return len(found), hashlib.blake2b(found.tobytes(), digest_size=16).hexdigest()


def read_digest(query_execution: Any, schema: StructType, sequence: str | None = None) -> Digest:
    """The digest of a finished execution of a frame made by `with_digest`; `schema` is that of the query's frame."""
    row = query_execution.observedMetrics().apply(DIGEST_NAME)
    names = row.schema().fieldNames()  # each step is a call: asked for once, not for every field
    return digest_of({names[i]: row.get(i) for i in range(len(names))}, schema, sequence)


def digest_of(cells: Mapping[str, Any], schema: StructType, sequence: str | None = None) -> Digest:
    """The digest from the values of `digest_metrics`."""
    leaves = float_leaves(schema)
    exact = _whole(cells, "exact")
    return Digest(
        rows=int(cells["rows"]),
        exact=exact,
        bits=_whole(cells, "bits") if leaves else exact,
        floats=tuple(
            FloatSummary(
                column=leaf.name,
                total=float(cells[f"f{number}_total"] or 0.0),
                magnitude=float(cells[f"f{number}_magnitude"] or 0.0),
                single=leaf.single,
            )
            for number, leaf in enumerate(leaves)
        ),
        sequence=sequence,
        columns=shortened(columns_text(schema)),
        form=DIGEST_FORM,
    )


def _columns(names: Sequence[str]) -> list[Column]:
    from pyspark.sql import functions as F

    return [F.col(f"`{name.replace('`', '``')}`") for name in names]


def _row_hashes(taken: list[Column], schema: StructType, leaves: list[FloatLeaf]) -> tuple[Column, Column]:
    """Two hashes of a row: without its finite floating point, and of all bits. The second is made from the first."""
    from pyspark.sql import functions as F

    kinds = [field.dataType for field in schema.fields]
    exact = F.xxhash64(*[part for c, kind in zip(taken, kinds, strict=True) for part in parts(c, kind, floats=False)])
    floating = sorted({leaf.column for leaf in leaves})
    if not floating:
        return exact, exact
    return exact, F.xxhash64(exact, *[part for i in floating for part in parts(taken[i], kinds[i], floats=True)])


def _sums(name: str, column: Column) -> list[Column]:
    from pyspark.sql import functions as F

    return [
        F.sum(F.shiftrightunsigned(column, first).bitwiseAND(F.lit((1 << bits) - 1).cast("bigint"))).alias(
            f"{name}_{first}"
        )
        for first, bits in _PIECES
    ]


def _whole(cells: Mapping[str, Any], name: str) -> str:
    return str(sum(int(cells[f"{name}_{first}"] or 0) << first for first, _ in _PIECES))


def _added(values: Column, leaf: FloatLeaf, *, absolute: bool = False) -> Column:
    from pyspark.sql import functions as F

    if not leaf.many:
        return F.abs(values) if absolute else values
    return F.aggregate(values, F.lit(0.0), lambda total, one: total + (F.abs(one) if absolute else one))


def _with_unique_names(frame: DataFrame) -> DataFrame:
    """Columns renamed by position if two have the same name. Otherwise the plan is exactly the user's."""
    names = frame.columns
    if len({name.lower() for name in names}) == len(names):
        return frame
    return frame.toDF(*[f"c{i}" for i in range(len(names))])
