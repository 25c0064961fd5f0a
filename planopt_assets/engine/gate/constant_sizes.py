"""What constant arguments ask for, seen before anything is evaluated: `repeat('x', 2e9)` has 2,000,000,000 characters.

Spark evaluates constants on the driver while it plans, and some while it analyses. Nothing can stop it there, so the
arguments are read from the trees of the gate: literals, casts and plain arithmetic on them. What depends on a row is
not known, and counts as one.

The trees come from `toJSON`: each is a flat list, a parent before its children. Read backwards, the answers of a node's
children are there when the node is reached, so a deep tree needs no recursion.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from planopt_assets.engine.gate.sql_allowlist import Node, function_of, simple_name

_DAY_US = 86_400e6
_MONTH_US = 2_629_746e6
_FUNCTIONS = {
    "repeat": "StringRepeat",
    "space": "StringSpace",
    "lpad": "StringLPad",
    "rpad": "StringRPad",
    "sequence": "Sequence",
    "array_repeat": "ArrayRepeat",
    "array_insert": "ArrayInsert",
    "stack": "Stack",
    "format_number": "FormatNumber",
    "format_string": "FormatString",
    "printf": "FormatString",
    "randstr": "RandStr",
    "approx_count_distinct": "HyperLogLogPlusPlus",
    "count_min_sketch": "CountMinSketchAgg",
    "transform": "ArrayTransform",
    "pow": "Pow",
    "power": "Pow",
    "negative": "UnaryMinus",
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"), "Cast"),
}
"""The parser's names of what the analyzer names by class."""


@dataclass(frozen=True, slots=True)
class Size:
    """What is known of one expression: its value where it is a constant, and how large what it makes is."""

    value: float | None = None  # dates and times in microseconds
    text: str | None = None
    of_time: bool = False
    elements: float = 1.0  # or characters


def sizes(tree: object) -> Iterator[tuple[str, Size]]:
    """The name and the size of every expression that constant arguments make large, wherever it stands in a tree."""
    stack = [tree]
    while stack:
        here = stack.pop()
        if isinstance(here, list):
            if here and isinstance(here[0], dict) and "num-children" in here[0]:
                yield from _of_list(here)
            stack.extend(here)
        elif isinstance(here, dict):
            stack.extend(here.values())


def _of_list(nodes: Sequence[Node]) -> Iterator[tuple[str, Size]]:
    done: list[Size] = []
    for node in reversed(nodes):
        count = int(node["num-children"])
        children = [done.pop() for _ in range(min(count, len(done)))]
        kind = _kind(node)
        size = _size(kind, node, children)
        if kind in _MAKES:
            yield _spelled(node), size
        done.append(size)


def _kind(node: Node) -> str:
    function = function_of(node)
    return _FUNCTIONS.get(function.simple, "") if function else simple_name(node["class"])


def _spelled(node: Node) -> str:
    function = function_of(node)
    return function.simple if function else _NAMES.get(simple_name(node["class"]), simple_name(node["class"]))


def _size(kind: str, node: Node, children: Sequence[Size]) -> Size:
    if kind == "Literal":
        return _literal(str(node.get("value")), str(node.get("dataType")))
    inside = max((child.elements for child in children), default=1.0)
    if kind in _MAKES:
        return Size(elements=max(1.0, _MAKES[kind](node, children) or 0.0, inside))
    if kind in _PASS and children:
        return children[0]
    if kind in _ARITHMETIC:
        return Size(_computed(_ARITHMETIC[kind], [c.value for c in children]), elements=inside)
    return Size(elements=inside)


def _literal(value: str, data_type: str) -> Size:
    if data_type.startswith("string"):
        return Size(text=value, elements=max(1.0, len(value)))
    if data_type.startswith("interval"):
        months = data_type in ("interval month", "interval year", "interval year to month")
        amount = _number(value)
        return Size(amount * _MONTH_US if months and amount is not None else amount, of_time=True)
    if data_type in ("date", "timestamp", "timestamp_ntz"):
        try:
            at = datetime.fromisoformat(value).replace(tzinfo=UTC)
        except ValueError:
            return Size(of_time=True)
        return Size(at.timestamp() * 1e6, of_time=True)
    return Size(_number(value))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _computed(compute: Callable[..., float], values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    if len(known) < len(values):
        return None
    try:
        return float(compute(*known))
    except OverflowError:
        return math.inf
    except (ArithmeticError, TypeError, ValueError):
        return None


def _value(children: Sequence[Size], place: int) -> float | None:
    return children[place].value if place < len(children) else None


def _argument(place: int) -> Callable[[Node, Sequence[Size]], float | None]:
    return lambda node, children: _value(children, place)


def _times_the_first(node: Node, children: Sequence[Size]) -> float | None:
    times = _value(children, 1)
    return None if times is None else times * children[0].elements


def _sequence(node: Node, children: Sequence[Size]) -> float | None:
    start, stop = _value(children, 0), _value(children, 1)
    usual = _DAY_US if any(c.of_time for c in children[:2]) else 1.0
    step = _value(children, 2) if len(children) > 2 else usual
    if start is None or stop is None or not step:
        return None
    steps = abs(stop - start) / abs(step)
    return steps if math.isinf(steps) else math.floor(steps) + 1


def _padded_position(node: Node, children: Sequence[Size]) -> float | None:
    position = _value(children, 1)
    return None if position is None else abs(position)


def _widest_field(node: Node, children: Sequence[Size]) -> float | None:
    widths = re.findall(r"%[^A-Za-z%]*?(\d+)[^A-Za-z%]*[A-Za-z]", (children[0].text if children else None) or "")
    return max(map(float, widths), default=None)


def _registers(node: Node, children: Sequence[Size]) -> float | None:
    """Of an approximate count: their number grows with the square of the precision asked for."""
    error = _number(str(node["relativeSD"])) if "relativeSD" in node else _value(children, 1)
    return None if error is None else math.inf if error <= 0 else (1.106 / error) ** 2


def _sketch_width(node: Node, children: Sequence[Size]) -> float | None:
    error = _value(children, 1)
    return None if error is None else math.inf if error <= 0 else 2 / error


def _each_of_an_array(node: Node, children: Sequence[Size]) -> float | None:
    return math.prod(child.elements for child in children[:2])


_MAKES: Mapping[str, Callable[[Node, Sequence[Size]], float | None]] = {
    "StringRepeat": _times_the_first,
    "StringSpace": _argument(0),
    "StringLPad": _argument(1),
    "StringRPad": _argument(1),
    "BinaryPad": _argument(1),
    "Sequence": _sequence,
    "ArrayRepeat": _times_the_first,
    "ArrayInsert": _padded_position,
    "Stack": _argument(0),
    "FormatNumber": _argument(1),
    "FormatString": _widest_field,
    "RandStr": _argument(0),
    "HyperLogLogPlusPlus": _registers,
    "CountMinSketchAgg": _sketch_width,
    "ArrayTransform": _each_of_an_array,
}
_NAMES = {kind: name for name, kind in reversed(_FUNCTIONS.items())}
_PASS = ("Cast", "Alias", "NamedArgumentExpression", "UnaryPositive")
_ARITHMETIC: Mapping[str, Callable[..., Any]] = {
    "UnaryMinus": operator.neg,
    "Add": operator.add,
    "Subtract": operator.sub,
    "Multiply": operator.mul,
    "Divide": operator.truediv,
    "IntegralDivide": operator.floordiv,
    "Pow": math.pow,
    "ShiftLeft": lambda value, by: int(value) << min(int(by), 63),
}
