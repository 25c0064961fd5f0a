"""Predicates of stored scans as tests on ranges: may a file with this least and greatest value hold a row?

The rules are those of Delta's data skipping. What cannot be tested by a range keeps every file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

_COMPARISONS: dict[type[exp.Expr], tuple[str, str]] = {  # as written, and with the sides swapped
    exp.EQ: ("=", "="),
    exp.LT: ("<", ">"),
    exp.LTE: ("<=", ">="),
    exp.GT: (">", "<"),
    exp.GTE: (">=", "<="),
}


@dataclass(frozen=True, slots=True)
class Compare:
    """A column against literals, as their texts; `in` has several, `prefix` is `LIKE 'text%'`."""

    column: str
    op: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    parts: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Anything:
    """A predicate that no range can answer."""


Test = Compare | AllOf | AnyOf | Anything


@lru_cache(maxsize=4096)
def range_test(text: str) -> Test:
    """
    >>> range_test("l_shipdate >= '1994-01-01'")
    Compare(column='l_shipdate', op='>=', values=('1994-01-01',))
    >>> range_test("5 > id AND upper(name) = 'X'")
    AllOf(parts=(Compare(column='id', op='<', values=('5',)), Anything()))
    """
    try:
        return _test(sqlglot.parse_one(text, read="spark"))
    except (SqlglotError, RecursionError):
        return Anything()


def columns_of(test: Test) -> tuple[str, ...]:
    """Columns that ranges are needed of, each once."""
    if isinstance(test, Compare):
        return (test.column,)
    if isinstance(test, AllOf | AnyOf):
        return tuple(dict.fromkeys(c for part in test.parts for c in columns_of(part)))
    return ()


@lru_cache(maxsize=4096)
def named_columns(text: str) -> tuple[str, ...]:
    """All columns that a predicate names, also inside functions.

    >>> named_columns("upper(name) = 'X' OR id IS NULL")
    ('id', 'name')
    """
    try:
        tree = sqlglot.parse_one(text, read="spark")
    except (SqlglotError, RecursionError):
        return ()
    return tuple(dict.fromkeys(_path(c) for c in tree.find_all(exp.Column)))


def renamed(test: Test, names: Mapping[str, str]) -> Test:
    """Columns as the table spells them; one that the table does not have is no test."""
    if isinstance(test, Compare):
        name = names.get(test.column.casefold())
        return Compare(name, test.op, test.values) if name else Anything()
    if isinstance(test, AllOf | AnyOf):
        return type(test)(tuple(renamed(part, names) for part in test.parts))
    return test


def _test(tree: exp.Expr) -> Test:
    tree = tree.unnest()
    if isinstance(tree, exp.And):
        return AllOf(tuple(_test(t) for t in tree.flatten()))
    if isinstance(tree, exp.Or):
        parts = tuple(_test(t) for t in tree.flatten())
        return Anything() if any(isinstance(p, Anything) for p in parts) else AnyOf(parts)
    if type(tree) in _COMPARISONS:
        return _comparison(tree)
    if isinstance(tree, exp.In) and tree.expressions and isinstance(tree.this, exp.Column):
        values = [_literal(e) for e in tree.expressions]
        known = tuple(v for v in values if v is not None)
        return Compare(_path(tree.this), "in", known) if len(known) == len(values) else Anything()
    if isinstance(tree, exp.Like) and isinstance(tree.this, exp.Column):
        pattern = _literal(tree.expression) or ""
        prefix = pattern.removesuffix("%")
        plain = prefix and pattern != prefix and not set(prefix) & set("%_\\")
        return Compare(_path(tree.this), "prefix", (prefix,)) if plain else Anything()
    return Anything()


def _comparison(tree: exp.Expr) -> Test:
    left, right = tree.this.unnest(), tree.expression.unnest()
    as_written, swapped = _COMPARISONS[type(tree)]
    if isinstance(left, exp.Column) and (value := _literal(right)) is not None:
        return Compare(_path(left), as_written, (value,))
    if isinstance(right, exp.Column) and (value := _literal(left)) is not None:
        return Compare(_path(right), swapped, (value,))
    return Anything()


def _literal(tree: exp.Expr) -> str | None:
    if isinstance(tree, exp.Literal):
        return str(tree.this)
    if isinstance(tree, exp.Neg) and isinstance(tree.this, exp.Literal):
        return f"-{tree.this.this}"
    return None


def _path(column: exp.Column) -> str:
    return ".".join(part.name for part in column.parts)
