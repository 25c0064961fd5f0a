"""What the log allows: for a predicate, the files in which some row may satisfy it.

A predicate answers two questions about every file at once, in Arrow: may it be true for some row, may it be false for
some row. Both are needed: NOT swaps them, and for NULL neither is so. Where the log says nothing, the answer is yes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from planopt_tests.oracle.log_reader import Column, Snapshot

Answer = Callable[[Snapshot], pa.Array]


@dataclass(frozen=True, slots=True)
class Predicate:
    """Combined with `&`, `|` and `~`, as SQL combines with AND, OR and NOT."""

    columns: frozenset[str]
    may_hold: Answer
    may_fail: Answer
    conjuncts: tuple[Predicate, ...] = ()  # of an AND

    def __and__(self, other: Predicate) -> Predicate:
        return Predicate(
            self.columns | other.columns,
            lambda files: pc.and_(self.may_hold(files), other.may_hold(files)),
            lambda files: pc.or_(self.may_fail(files), other.may_fail(files)),
            (self.conjuncts or (self,)) + (other.conjuncts or (other,)),
        )

    def __or__(self, other: Predicate) -> Predicate:
        return ~(~self & ~other)

    def __invert__(self) -> Predicate:
        return Predicate(self.columns, self.may_fail, self.may_hold)

    def on_partitions(self, files: Snapshot) -> Predicate:
        """The conjuncts that partition values alone decide."""
        decided = [c for c in self.conjuncts or (self,) if all(files.columns[n].is_partition for n in c.columns)]
        return reduce(operator.and_, decided, ANYTHING)


@dataclass(frozen=True, slots=True, eq=False)
class Col:
    """A column in a predicate: `Col("id") < 5` compares the ranges of `id`, file by file."""

    name: str
    widen_by: Any = None  # added to the upper end, where the log keeps less than the value had

    def __eq__(self, value: object) -> Predicate:  # type: ignore[override]
        return self._atom(
            lambda c: pc.and_(pc.less_equal(c.low, value), pc.greater_equal(c.high, value)),
            lambda c: pc.invert(pc.and_(pc.equal(c.low, value), pc.equal(c.high, value))),
        )

    def __ne__(self, value: object) -> Predicate:  # type: ignore[override]
        return ~(self == value)

    def __lt__(self, value: Any) -> Predicate:
        return self._atom(lambda c: pc.less(c.low, value), lambda c: pc.greater_equal(c.high, value))

    def __ge__(self, value: Any) -> Predicate:
        return ~(self < value)

    def __gt__(self, value: Any) -> Predicate:
        return self._atom(lambda c: pc.greater(c.high, value), lambda c: pc.less_equal(c.low, value))

    def __le__(self, value: Any) -> Predicate:
        return ~(self > value)

    def between(self, low: Any, high: Any) -> Predicate:
        return (self >= low) & (self <= high)

    def one_of(self, *values: Any) -> Predicate:
        return reduce(operator.or_, [self == value for value in values])

    def starts_with(self, prefix: str) -> Predicate:
        def cut(ends: pa.Array) -> pa.Array:
            return pc.utf8_slice_codeunits(ends, 0, len(prefix))

        return self._atom(
            lambda c: pc.and_(pc.less_equal(cut(c.low), prefix), pc.greater_equal(cut(c.high), prefix)),
            lambda c: pc.invert(pc.and_(pc.equal(cut(c.low), prefix), pc.equal(cut(c.high), prefix))),
        )

    def is_null(self) -> Predicate:
        return Predicate(
            frozenset({self.name}),
            lambda files: _unless_known(pc.greater(files.columns[self.name].nulls, 0)),
            lambda files: _unless_known(pc.less(files.columns[self.name].nulls, files.rows)),
        )

    def exactly(self, test: Callable[[pa.Array], pa.Array]) -> Predicate:
        """Any function of a column whose value is known for each file, that is of a partition column."""
        return self._atom(lambda c: test(c.low), lambda c: pc.invert(test(c.low)))

    def _atom(self, may_hold: Callable[[Column], pa.Array], may_fail: Callable[[Column], pa.Array]) -> Predicate:
        """A comparison: NULL for a NULL, so a file that holds nothing else is out either way."""
        some_value = ~self.is_null()

        def answer(test: Callable[[Column], pa.Array]) -> Answer:
            def of(files: Snapshot) -> pa.Array:
                return pc.and_(_unless_known(test(self._ordered(files))), some_value.may_hold(files))

            return of

        return Predicate(frozenset({self.name}), answer(may_hold), answer(may_fail))

    def _ordered(self, files: Snapshot) -> Column:
        column = files.columns[self.name]
        high = column.high if self.widen_by is None else pc.add(column.high, self.widen_by)
        return replace(column, low=_nan_last(column.low), high=_nan_last(high))


def _everywhere(files: Snapshot) -> pa.Array:
    return pa.repeat(pa.scalar(True), len(files))


ANYTHING = Predicate(frozenset(), _everywhere, _everywhere)
"""A predicate of which ranges say nothing; also: no predicate at all."""


def _unless_known(answer: pa.Array) -> pa.Array:
    return pc.fill_null(answer, True)


def _nan_last(ends: pa.Array) -> pa.Array:
    """Spark sorts NaN above every number; to Arrow it compares with nothing."""
    return pc.if_else(pc.is_nan(ends), float("inf"), ends) if pa.types.is_floating(ends.type) else ends
