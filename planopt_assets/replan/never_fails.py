"""Whether a condition can be evaluated on any row: also on rows that a join would have dropped before.

Spark is in ANSI mode by default: a cast of `abc` to a number, a division by zero or an overflow ends the query. So only
comparisons that convert nothing that could fail are accepted, and no function at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

from sqlglot import exp

from planopt_assets.replan.column_types import digits, family

TypeOf = Callable[[exp.Column], str | None]

_NUMBER = re.compile(r"\d{1,10}(\.\d{1,8})?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_WIDEST = 20  # digits of a decimal column: beside any such number, the common type has 38 digits or less
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


def never_fails(condition: exp.Expr, type_of: TypeOf) -> bool:
    """
    >>> from planopt_assets.observe.sql.tokens import SPARK
    >>> types = {"d": "date", "n": "int", "s": "string"}
    >>> def test(text):
    ...     where = SPARK.parse(f"SELECT 1 FROM t WHERE {text}")[0].args["where"]
    ...     return never_fails(where.this, lambda column: types.get(column.name))
    >>> test("d < DATE '2024-01-31' AND (n = 3 OR s NOT LIKE '%x%')")
    True
    >>> test("s = 3"), test("n / 2 = 1"), test("d < 'soon'")
    (False, False, False)
    """
    match condition:
        case exp.Paren() | exp.Not():
            return never_fails(condition.this, type_of)
        case exp.And() | exp.Or():
            return never_fails(condition.left, type_of) and never_fails(condition.right, type_of)
        case exp.Is(this=exp.Column() as column, expression=exp.Null()):
            return type_of(column) is not None
        case exp.Like(this=exp.Column() as column, expression=exp.Literal(is_string=True)):
            return _only(condition, "this", "expression", "negate") and type_of(column) == "string"
        case exp.Between(this=exp.Column() as column):
            bounds = [condition.args.get("low"), condition.args.get("high")]
            plain = _only(condition, "this", "low", "high", "negate")
            return plain and all(_fits(column, bound, type_of) for bound in bounds)
        case exp.In(this=exp.Column() as column):
            plain = _only(condition, "this", "expressions", "negate")
            return plain and all(_fits(column, value, type_of) for value in condition.expressions)
    if isinstance(condition, _COMPARISONS) and _only(condition, "this", "expression"):
        one, other = condition.this, condition.expression
        return _fits(one, other, type_of) or _fits(other, one, type_of)
    return False


def _only(node: exp.Expr, *keys: str) -> bool:
    return {key for key, value in node.args.items() if value not in (None, False, [])} <= set(keys)


def _fits(column: exp.Expr, value: exp.Expr | None, type_of: TypeOf) -> bool:
    """Whether a column can be compared with a literal, or with a column of the same type."""
    type_ = type_of(column) if isinstance(column, exp.Column) else None
    if type_ is None or family(type_) is None:
        return False
    if isinstance(value, exp.Column):
        return type_of(value) == type_
    match family(type_):
        case "integer":
            return _is_number(value)
        case "decimal":
            return (digits(type_) or (99, 0))[0] <= _WIDEST and _is_number(value)
        case "string":
            return isinstance(value, exp.Literal) and value.is_string
        case "date":
            return _is_day(value)
    return False


def _is_number(value: exp.Expr | None) -> bool:
    value = value.this if isinstance(value, exp.Neg) else value
    return isinstance(value, exp.Literal) and not value.is_string and bool(_NUMBER.fullmatch(value.name))


def _is_day(value: exp.Expr | None) -> bool:
    """`DATE '2024-01-31'`, or the string alone."""
    if isinstance(value, exp.Cast) and _only(value, "this", "to") and value.to.is_type("date"):
        value = value.this
    if not isinstance(value, exp.Literal) or not value.is_string or not _DAY.fullmatch(value.name):
        return False
    try:
        date.fromisoformat(value.name)
    except ValueError:
        return False
    return True
