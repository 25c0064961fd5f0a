"""Takes a value of any Spark type apart into what `xxhash64` covers without loss.

Spark's hash skips NULLs and knows no boundaries of arrays, so `[1, NULL]` and `[NULL, 1]` hash alike, and so do
`([1, 2], [3])` and `([1], [2, 3])`. Here every value starts with its NULL mark and every collection with its size. Read
from left to right, the parts of two different values are never the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planopt_assets.errors import ResultIncomparable

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType, StructType

_PLAIN = frozenset(
    {
        *("boolean", "byte", "short", "integer", "long", "decimal", "string", "char", "varchar", "binary"),
        *("date", "timestamp", "timestamp_ntz", "time", "yearmonthinterval", "daytimeinterval", "interval"),
    }
)
_FLOATS = ("float", "double")
_SPATIAL = ("geometry", "geography")
_NESTED = ("array", "map", "struct")
FINITE, NAN, INFINITY, MINUS_INFINITY = range(4)


def hashed(value: Column, kind: DataType, *, floats: bool) -> Column:
    """One hash of a value, never NULL. Without `floats` it covers of floating point only whether it is finite."""
    from pyspark.sql import functions as F

    return F.xxhash64(*parts(value, kind, floats=floats))


def parts(value: Column, kind: DataType, *, floats: bool) -> list[Column]:
    """What a hash must cover of a value: its NULL mark, then what it holds. A string is its bytes, in any collation."""
    from pyspark.sql import functions as F

    mark = value.isNull()
    name = kind.typeName()
    if has_own_form(kind):
        return parts(F.unwrap_udt(value), stored_form(kind), floats=floats)
    if name in _FLOATS:
        return [mark, value if floats else kind_of_float(value)]
    if name in _PLAIN:
        return [mark, value]
    if name in _NESTED:
        return [mark, *_nested(value, kind, floats=floats)]
    if name == "variant":
        return [mark, *_variant_bytes(value)]
    if name in _SPATIAL:
        return [mark, F.st_srid(value), F.st_asbinary(value)]
    if name == "void":
        return [mark]
    raise ResultIncomparable(
        f"a column of type {kind.simpleString()}", where="result", fix="cast it to a type that planopt can compare"
    )


def is_float(kind: DataType) -> bool:
    return kind.typeName() in _FLOATS


def kind_of_float(value: Column) -> Column:
    """Finite, NaN, infinity or minus infinity, as a number. Comparisons cannot tell: in Spark NaN is above all."""
    from pyspark.sql import functions as F

    infinity = F.lit(float("inf"))
    special = F.when(F.isnan(value), NAN).when(value == infinity, INFINITY).when(value == -infinity, MINUS_INFINITY)
    return F.when(F.abs(value) < infinity, FINITE).otherwise(special.otherwise(FINITE))


def has_own_form(kind: DataType) -> bool:
    """Whether it is a user-defined type."""
    return hasattr(kind, "sqlType")


def stored_form(kind: DataType) -> DataType:
    """The type that values of a user-defined type are stored as."""
    stored: DataType = kind.sqlType()  # type: ignore[attr-defined]
    return stored


def fields_of(value: Column, kind: StructType) -> list[tuple[Column, DataType]]:
    """The fields of a struct. They are renamed by position where two have the same name."""
    from pyspark.sql.types import StructType as Struct

    names = [field.name for field in kind.fields]
    if len({name.lower() for name in names}) < len(names):
        names = [f"f{i}" for i in range(len(names))]
        value = value.cast(Struct([*map(_renamed, kind.fields, names)]))
    return [(value.getField(name), field.dataType) for name, field in zip(names, kind.fields, strict=True)]


def _renamed(field: Any, name: str) -> Any:
    from pyspark.sql.types import StructField

    return StructField(name, field.dataType, field.nullable)


def _nested(value: Column, kind: Any, *, floats: bool) -> list[Column]:
    from pyspark.sql import functions as F

    if kind.typeName() == "struct":
        return [part for field in fields_of(value, kind) for part in parts(*field, floats=floats)]
    if kind.typeName() == "map":
        # A map has no order: its entries are hashed one by one, and the hashes sorted. Its keys are always exact.
        entries = F.transform(
            F.map_entries(value),
            lambda entry: F.xxhash64(
                *parts(entry["key"], kind.keyType, floats=True), *parts(entry["value"], kind.valueType, floats=floats)
            ),
        )
        return [F.size(value), F.sort_array(entries)]
    element = kind.elementType
    if element.typeName() in _PLAIN or (floats and is_float(element)):
        # Spark hashes plain elements itself. Only an array with NULLs needs to be walked, for their places.
        has_nulls = F.exists(value, lambda item: item.isNull())
        places = F.when(has_nulls, F.transform(value, lambda item: item.isNull()))
        return [F.size(value), F.coalesce(has_nulls, F.lit(False)), places, value]
    return [F.size(value), F.transform(value, lambda item: hashed(item, element, floats=floats))]


def _variant_bytes(value: Column) -> list[Column]:
    """The two byte strings of a variant. No SQL function gives them, and its JSON form loses types."""
    from pyspark import SparkContext
    from pyspark.sql.classic.column import Column as Classic

    jvm: Any = SparkContext._jvm
    wrapped = jvm.org.apache.spark.sql.classic.ExpressionUtils
    binary = getattr(getattr(jvm.org.apache.spark.sql.types, "BinaryType$"), "MODULE$")
    nothing = getattr(getattr(jvm.scala.collection.immutable, "Nil$"), "MODULE$")
    invoke = jvm.org.apache.spark.sql.catalyst.expressions.objects.Invoke
    target = wrapped.expression(value._jc)
    return [
        Classic(wrapped.column(invoke(target, method, binary, nothing, nothing, True, True, True)))
        for method in ("getMetadata", "getValue")
    ]
