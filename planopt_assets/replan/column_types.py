"""The columns of a relation with their types, as Spark writes them, and what may be done with a type.

A rewrite that moves work below a join also computes on rows that the join would drop. It may do only what never fails
and never depends on the order of rows. That is a question of types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

Columns = Mapping[str, str]
ColumnsOf = Callable[[str], Columns | None]
"""From the name of a relation, as a text writes it, to its columns: name in lower case, and type. None: not known."""

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_FAMILIES = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "integer"),
    **{name: name for name in ("string", "date", "timestamp", "timestamp_ntz", "boolean")},
}
_MOST_DIGITS, _ADDED_DIGITS = 38, 10  # of a decimal; by which Spark widens the type of a sum
_IN_DELTA = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}


def no_columns(_: str) -> None:
    """Where nobody knows the tables."""


def as_in_spark(delta_type: str) -> str:
    """
    >>> as_in_spark("long"), as_in_spark("decimal(15,2)"), as_in_spark("string")
    ('bigint', 'decimal(15,2)', 'string')
    """
    return _IN_DELTA.get(delta_type, delta_type)


def digits(type_: str) -> tuple[int, int] | None:
    """Precision and scale of a decimal."""
    found = _DECIMAL.fullmatch(type_)
    return (int(found[1]), int(found[2])) if found else None


def family(type_: str) -> str | None:
    """The family of a type with one order and one equality, so that minimum, maximum and groups are never ambiguous.

    None for all others: 0.0 and -0.0 are equal doubles, `a` and `A` may be equal in a collation, CHAR is padded.

    >>> family("bigint"), family("decimal(15,2)"), family("double"), family("string collate UTF8_LCASE")
    ('integer', 'decimal', None, None)
    """
    return "decimal" if digits(type_) else _FAMILIES.get(type_)


def sum_type(type_: str) -> str | None:
    """The type of a sum that cannot overflow. None: it can, or its bits depend on the order of rows.

    A sum of decimals has ten digits more, and of integers up to INT 32 bits more: it takes 4 thousand million rows of
    the largest value in one group to fill them.

    >>> sum_type("int"), sum_type("decimal(15,2)"), sum_type("bigint"), sum_type("decimal(30,2)"), sum_type("double")
    ('bigint', 'decimal(25,2)', None, None, None)
    """
    if type_ in ("tinyint", "smallint", "int"):
        return "bigint"
    found = digits(type_)
    if found is None or found[0] + _ADDED_DIGITS > _MOST_DIGITS:
        return None
    return f"decimal({found[0] + _ADDED_DIGITS},{found[1]})"


def comparable(one: str, other: str) -> bool:
    """Whether `=` on two columns converts nothing but small integers to larger ones."""
    return family(one) is not None and (one == other or family(one) == family(other) == "integer")
