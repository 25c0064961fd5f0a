"""Finds a predicate among the filters that Spark pushes to Parquet. They are written in another form."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planopt_assets.model.scan import Expression
from planopt_assets.observe.pushdown.eligibility import sides

_NAMES = {"StartsWith": "StringStartsWith", "EndsWith": "StringEndsWith", "Contains": "StringContains", "InSet": "In"}
_FLIPPED = {
    "LessThan": "GreaterThan",
    "GreaterThan": "LessThan",
    "LessThanOrEqual": "GreaterThanOrEqual",
    "GreaterThanOrEqual": "LessThanOrEqual",
}
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_WIDE = 4  # a list whose range is more than this many times its length has wide gaps


def was_pushed(predicate: Expression, filters: Sequence[str]) -> bool:
    """
    >>> column, five = Expression("Column", "id", "long"), Expression("Literal", "5", "long")
    >>> was_pushed(Expression("LessThan", args=(column, five)), ["IsNotNull(id)", "LessThan(id,5)"])
    True
    """
    pattern = _pattern(predicate)
    return pattern is not None and any(re.fullmatch(pattern, text, re.IGNORECASE | re.DOTALL) for text in filters)


def list_with_gaps(predicate: Expression, filters: Sequence[str]) -> tuple[str, str] | None:
    """Smallest and largest value of an IN list of numbers or dates with wide gaps. None: no such list.

    >>> ids = tuple(Expression("Literal", n, "long") for n in ("5", "795"))
    >>> list_with_gaps(Expression("In", args=(Expression("Column", "id", "long"), *ids)), [])
    ('5', '795')
    """
    if predicate.op not in ("In", "InSet"):
        return None
    listed = [arg.name for arg in predicate.args[1:]] or _values_in(predicate, filters)
    numbers = {number: text for text in listed if (number := _number(text)) is not None}
    if len(numbers) < 2 or len(numbers) < len(set(listed)):
        return None
    low, high = min(numbers), max(numbers)
    return (numbers[low], numbers[high]) if high - low + 1 > _WIDE * len(numbers) else None


def _values_in(predicate: Expression, filters: Sequence[str]) -> list[str]:
    """Spark's trees omit the values of long lists. The filter pushed to Parquet has them."""
    column = re.escape(predicate.args[0].name)
    found = [m[1] for text in filters if (m := re.fullmatch(rf"In\({column}, \[(.*)\]\)", text, re.IGNORECASE))]
    return found[0].split(",") if found else []


def _number(text: str) -> float | None:
    """A number as it is; a date as days since year 0, with 31 days in every month.

    >>> _number("-5.5"), _number("2024-03-01") - _number("2024-02-28"), _number("abc")
    (-5.5, 4.0, None)
    """
    if (found := _DATE.fullmatch(text)) is not None:
        year, month, day = (int(part) for part in found.groups())
        return float((year * 12 + month) * 31 + day)
    try:
        return float(text)
    except ValueError:
        return None


def _pattern(predicate: Expression) -> str | None:
    """A regular expression for the filter. It allows any value, because Spark formats values by type."""
    op, args = predicate.op, predicate.args
    if op == "Column":
        return rf"EqualTo\({_name(predicate)},true\)"
    if op == "Not":
        inner = _pattern(args[0])
        return rf"Not\({inner}\)" if inner else None
    if op in ("And", "Or"):
        legs = [_pattern(arg) for arg in args]
        # Spark nests them in pairs, in any order: every side must be somewhere inside.
        return rf"{op}\({''.join(f'(?=.*{leg})' for leg in dict.fromkeys(legs))}.*\)" if all(legs) else None
    if op in ("IsNull", "IsNotNull"):
        return rf"{op}\({_name(args[0])}\)" if args[0].op == "Column" else None
    if op in ("In", "InSet", "StartsWith", "EndsWith", "Contains"):
        return rf"{_NAMES.get(op, op)}\({_name(args[0])},.*\)" if args[0].op == "Column" else None
    column, value = sides(predicate)
    if column is None or value is None:
        return None
    name = _FLIPPED.get(op, op) if args[0] is value else op
    return rf"{name}\({_name(column)},.*\)"


def _name(column: Expression) -> str:
    return re.escape(column.name)
