"""Results drawn from every Spark type, nested up to depth 3, and every way to change one value in them.

A value is plain Python: None, a text for a scalar, a list for an array, a dict for a map, a tuple for a struct. `sql`
writes it as Spark reads it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

Value = Any

_POINT = "X'0101000000000000000000F03F000000000000{}'"  # as WKB: (1, 2) or (1, 3)
SCALARS: dict[str, tuple[str, ...]] = {
    "BOOLEAN": ("true", "false"),
    "TINYINT": ("1Y", "-2Y", "0Y"),
    "SMALLINT": ("1S", "-2S", "0S"),
    "INT": ("1", "-2", "0"),
    "BIGINT": ("1L", "-2L", "0L"),
    "DECIMAL(10,2)": ("CAST('1.50' AS DECIMAL(10,2))", "CAST('-1.51' AS DECIMAL(10,2))"),
    "DECIMAL(38,6)": (
        "CAST('12345678901234567890.000001' AS DECIMAL(38,6))",
        "CAST('12345678901234567890.000002' AS DECIMAL(38,6))",
    ),
    "STRING": ("''", "'a'", "'A'", "'a '", "'\\u00e4'"),
    "STRING COLLATE UTF8_LCASE": ("'a' COLLATE UTF8_LCASE", "'A' COLLATE UTF8_LCASE"),
    "STRING COLLATE UNICODE_CI": ("'b' COLLATE UNICODE_CI", "'B' COLLATE UNICODE_CI"),
    "CHAR(3)": ("CAST('a' AS CHAR(3))", "CAST('ab' AS CHAR(3))"),
    "VARCHAR(3)": ("CAST('a' AS VARCHAR(3))", "CAST('ab' AS VARCHAR(3))"),
    "BINARY": ("X''", "X'00'", "X'0000'"),
    "DATE": ("DATE'2020-01-01'", "DATE'2020-01-02'"),
    "TIMESTAMP": ("TIMESTAMP'2020-01-01 00:00:00.000001'", "TIMESTAMP'2020-01-01 00:00:00.000002'"),
    "TIMESTAMP_NTZ": ("TIMESTAMP_NTZ'2020-01-01 00:00:00.000001'", "TIMESTAMP_NTZ'2020-01-01 00:00:00.000002'"),
    "TIME(6)": ("TIME'12:00:00.000001'", "TIME'12:00:00.000002'"),
    "INTERVAL YEAR TO MONTH": ("INTERVAL '1-1' YEAR TO MONTH", "INTERVAL '1-2' YEAR TO MONTH"),
    "INTERVAL DAY TO SECOND": (
        "INTERVAL '1 00:00:00.000001' DAY TO SECOND",
        "INTERVAL '1 00:00:00.000002' DAY TO SECOND",
    ),
    "INTERVAL": ("make_interval(0, 1)", "make_interval(0, 0, 0, 30)", "make_interval(0, 0, 0, 0, 720)"),
    "VARIANT": (
        "parse_json('1')",
        "CAST('1' AS VARIANT)",
        "CAST('2020-01-01' AS VARIANT)",
        "CAST(DATE'2020-01-01' AS VARIANT)",
        "parse_json('[1, \"a\"]')",
        "parse_json('[\"a\", 1]')",
    ),
    "GEOMETRY(0)": (f"ST_GeomFromWKB({_POINT.format('0040')})", f"ST_GeomFromWKB({_POINT.format('0840')})"),
    "GEOGRAPHY(4326)": (f"ST_GeogFromWKB({_POINT.format('0040')})", f"ST_GeogFromWKB({_POINT.format('0840')})"),
}
_KEYS = ("INT", "STRING", "DATE", "TIMESTAMP", "DECIMAL(10,2)", "BINARY")


@dataclass(frozen=True)
class Scalar:
    name: str

    @property
    def text(self) -> str:
        return self.name


@dataclass(frozen=True)
class Float:
    """All values of one column have one scale, so that any two of them are apart."""

    name: str  # FLOAT or DOUBLE
    scale: float

    @property
    def text(self) -> str:
        return self.name


@dataclass(frozen=True)
class Array:
    element: Type

    @property
    def text(self) -> str:
        return f"ARRAY<{self.element.text}>"


@dataclass(frozen=True)
class Map:
    key: Scalar
    value: Type

    @property
    def text(self) -> str:
        return f"MAP<{self.key.text}, {self.value.text}>"


@dataclass(frozen=True)
class Struct:
    fields: tuple[Type, ...]

    @property
    def text(self) -> str:
        return f"STRUCT<{', '.join(f'f{i}: {t.text}' for i, t in enumerate(self.fields))}>"


Type = Scalar | Float | Array | Map | Struct


def drawn_types(random: Random) -> list[Type]:
    """Every scalar once, each nested up to depth 3, in a random order."""
    scalars: list[Type] = [Scalar(name) for name in SCALARS]
    scalars += [Float(name, random.choice((1e-9, 1.0, 1e12))) for name in ("FLOAT", "DOUBLE", "DOUBLE")]
    random.shuffle(scalars)
    return [_nested(random, scalar, random.randint(0, 3)) for scalar in scalars]


def _nested(random: Random, kind: Type, depth: int) -> Type:
    for _ in range(depth):
        match random.randrange(3):
            case 0:
                kind = Array(kind)
            case 1:
                kind = Map(Scalar(random.choice(_KEYS)), kind)
            case _:
                kind = Struct((kind, Scalar("INT")) if random.random() < 0.5 else (kind,))
    return kind


def drawn_value(random: Random, kind: Type) -> Value:
    if random.random() < 0.15:
        return None
    match kind:
        case Scalar(name):
            return random.choice(SCALARS[name])
        case Float():
            return random.choice(_floats(kind))
        case Array(element):
            return [drawn_value(random, element) for _ in range(random.randrange(4))]
        case Map(key, value):
            keys = random.sample(SCALARS[key.name], random.randint(0, len(SCALARS[key.name])))
            return {k: drawn_value(random, value) for k in sorted(keys)}
        case Struct(fields):
            return tuple(drawn_value(random, f) for f in fields)


def _floats(kind: Float) -> list[float]:
    return [math.nan, math.inf, -math.inf, 0.0, *(rounded(kind, kind.scale * x) for x in (1.5, -2.25, 0.9))]


def rounded(kind: Float, value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0]) if kind.name == "FLOAT" else value


def sql(kind: Type, value: Value) -> str:
    if value is None:
        return f"CAST(NULL AS {kind.text})"
    match kind:
        case Scalar():
            return str(value)
        case Float(name):
            return f"CAST('{value!r}' AS {name})"
        case Array(element):
            items = ", ".join(sql(element, item) for item in value)
            return f"array({items})" if value else f"CAST(array() AS {kind.text})"
        case Map(key, held):
            entries = ", ".join(f"{sql(key, k)}, {sql(held, v)}" for k, v in value.items())
            return f"map({entries})" if value else f"CAST(map() AS {kind.text})"
        case Struct(fields):
            named = [f"'f{i}', {sql(field, value[i])}" for i, field in enumerate(fields)]
            return f"named_struct({', '.join(named)})"


def mutations(kind: Type, value: Value) -> Iterator[Value]:
    """Values that differ from this one in one place: a scalar, a NULL, a size, an order or a boundary."""
    if value is not None:
        yield None
    match kind:
        case Scalar(name):
            yield from (other for other in SCALARS[name] if other != value)
        case Float():
            yield from (other for other in _floats(kind) if repr(other) != repr(value))
        case Array(element):
            yield from _of_array(element, value)
        case Map(key, held):
            yield from _of_map(key, held, value)
        case Struct(fields):
            if value is None:
                yield (None,) * len(fields)
            else:
                for i, field in enumerate(fields):
                    yield from ((*value[:i], other, *value[i + 1 :]) for other in mutations(field, value[i]))


def _of_array(element: Type, value: list[Value] | None) -> Iterator[Value]:
    if value is None:
        yield from ([], [None])
        return
    yield [*value, None]
    yield [None, *value] if any(item is not None for item in value) else [*value, None, None]
    for i, item in enumerate(value):
        yield value[:i] + value[i + 1 :]
        yield from ([*value[:i], other, *value[i + 1 :]] for other in mutations(element, item))
        if i and repr(value[i - 1]) != repr(item):
            yield [*value[: i - 1], item, value[i - 1], *value[i + 1 :]]
        # A boundary: the last element of one array becomes the first of the next.
        if i and isinstance(element, Array) and value[i - 1] and item is not None:
            yield [*value[: i - 1], value[i - 1][:-1], [value[i - 1][-1], *item], *value[i + 1 :]]


def _of_map(key: Scalar, held: Type, value: dict[str, Value] | None) -> Iterator[Value]:
    if value is None:
        yield {}
        return
    for k, v in value.items():
        rest = {name: one for name, one in value.items() if name != k}
        yield rest
        yield from ({**value, k: other} for other in mutations(held, v))
        yield from ({**rest, other: v} for other in SCALARS[key.name] if other not in value)


def the_same(kind: Type, value: Value) -> Value:
    """An equal value: last digits, the sign of zero, and entries of maps the other way round."""
    if value is None:
        return None
    match kind:
        case Float():
            return _last_digit(kind, value)
        case Array(element):
            return [the_same(element, item) for item in value]
        case Map(_, held):
            return {k: the_same(held, v) for k, v in reversed(value.items())}
        case Struct(fields):
            return tuple(the_same(f, v) for f, v in zip(fields, value, strict=True))
    return value


def _last_digit(kind: Float, value: float) -> float:
    if value == 0.0:
        return -0.0
    if kind.name == "DOUBLE" or not math.isfinite(value):
        return math.nextafter(value, math.inf) if math.isfinite(value) else value
    (bits,) = struct.unpack("i", struct.pack("f", value))
    return float(struct.unpack("f", struct.pack("i", bits + 1))[0])
