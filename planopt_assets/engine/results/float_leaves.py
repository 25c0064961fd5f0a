"""Every place of a result that holds floating point, at any depth: `price`, `item.price`, `prices[]`, `by_day{}`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.results.lossless import fields_of, has_own_form, hashed, is_float, stored_form

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType, StructType

_DOUBLES = "array<double>"


@dataclass(frozen=True, slots=True)
class FloatLeaf:
    """One such place: all values there have one scale, so they have one tolerance."""

    column: int  # position of its column in the result
    name: str
    single: bool  # 32 bits
    many: bool  # a row holds an array of them; else one
    values: Callable[[Column], Column]
    """From the column to its values as doubles. What is not a finite number is 0: the exact hash covers it.

    Values of a map are in the order of the hashes of their keys.
    """


def float_leaves(schema: StructType) -> list[FloatLeaf]:
    return [
        leaf
        for position, field in enumerate(schema.fields)
        for leaf in _leaves(position, field.name, field.dataType, lambda column: column)
    ]


def _leaves(column: int, name: str, kind: Any, taken: Callable[[Column], Column]) -> Iterator[FloatLeaf]:
    from pyspark.sql import functions as F

    if has_own_form(kind):
        yield from _leaves(column, name, stored_form(kind), lambda c: F.unwrap_udt(taken(c)))
    elif is_float(kind):
        yield FloatLeaf(column, name, kind.typeName() == "float", False, lambda c: _finite(taken(c)))
    elif kind.typeName() == "struct":
        for place, field in enumerate(kind.fields):
            yield from _leaves(column, f"{name}.{field.name}", field.dataType, _field(taken, kind, place))
    elif kind.typeName() == "array":
        for leaf in _leaves(column, f"{name}[]", kind.elementType, lambda item: item):
            yield _of_items(leaf, taken, F.transform)
    elif kind.typeName() == "map":
        for leaf in _leaves(column, f"{name}{{}}", kind.valueType, lambda item: item):
            yield _of_items(leaf, taken, lambda c, take: _by_key(c, kind.keyType, take))


def _field(taken: Callable[[Column], Column], kind: StructType, place: int) -> Callable[[Column], Column]:
    return lambda column: fields_of(taken(column), kind)[place][0]


def _of_items(leaf: FloatLeaf, taken: Callable[[Column], Column], walk: Callable[..., Column]) -> FloatLeaf:
    """A place inside each item of a collection: the values of all items, one after the other."""
    from pyspark.sql import functions as F

    def values(column: Column) -> Column:
        found = walk(taken(column), leaf.values)
        return F.coalesce(F.flatten(found) if leaf.many else found, F.array().cast(_DOUBLES))

    return FloatLeaf(leaf.column, leaf.name, leaf.single, True, values)


def _by_key(column: Column, key: DataType, take: Callable[[Column], Column]) -> Column:
    from pyspark.sql import functions as F

    entries = F.transform(
        F.map_entries(column),
        lambda entry: F.struct(
            hashed(entry["key"], key, floats=True).alias("key"), take(entry["value"]).alias("value")
        ),
    )
    return F.transform(F.sort_array(entries), lambda entry: entry["value"])


def _finite(value: Column) -> Column:
    from pyspark.sql import functions as F

    return F.coalesce(F.when(F.abs(value) < float("inf"), value.cast("double")), F.lit(0.0))
