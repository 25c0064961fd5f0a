"""Rows that planopt did not write so: a null that may not be, a text that is no JSON, a value of another kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from planopt_assets.errors import RowDamaged

T = TypeVar("T")

UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What Python and Arrow raise where a value cannot be decoded: no JSON, no UTF-8, out of range, another shape."""

EVERY_ROW = ("schema_version", "recorded_at")
"""Columns that no row of any version lacks."""


def damaged(table: str, column: str, query_id: object, run_id: object, why: str) -> RowDamaged:
    """The error for one field. A query that is itself unreadable is not named."""
    return RowDamaged(
        why,
        table=table,
        column=column,
        query_id=query_id if isinstance(query_id, str) else "",
        run_id=run_id if isinstance(run_id, str) else "",
    )


def decoded(read: Callable[[], T], table: str, column: str, query_id: object, run_id: object) -> T:
    """What `read` makes of a field, or the error that names the field."""
    try:
        return read()
    except UNREADABLE as error:
        raise damaged(table, column, query_id, run_id, _words(error)) from error


def objection(column: str, value: object, choices: Mapping[str, frozenset[str]]) -> str:
    """Why a required column may not hold this value. Empty if it may."""
    if value is None:
        return "it is null"
    if column in choices and value not in choices[column]:
        return f"{str(value)[:40]!r} is none of {', '.join(sorted(choices[column]))}"
    if column == "schema_version" and isinstance(value, int) and value < 1:
        return f"there is no schema version {value}"
    return ""


def plain(value: Any, kind: type | tuple[type, ...], what: str) -> Any:
    """A value of a JSON document, if it is of this kind. True and False are no numbers here."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{what} is {type(value).__name__}")  # no mistake of the program
    return value


def _words(error: BaseException) -> str:
    first = (str(error).strip().splitlines() or [""])[0][:120]
    return f"it cannot be read: {first or type(error).__name__}"
