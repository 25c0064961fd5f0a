"""Ranges of many files as arrays of numbers, and which files a predicate keeps."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planopt_assets.maintain.predicates import AllOf, AnyOf, Anything, Compare, Test

Numbers = NDArray[np.float64]
Kept = NDArray[np.bool_]


class Scale:
    """The values of one column as numbers in the same order; texts by their rank among all that are known."""

    def __init__(self, kind: str, known: Iterable[Any] = ()) -> None:
        self._kind = kind.partition("(")[0]
        self._texts = sorted({str(v) for v in known if v is not None}) if self.of_texts else []

    @property
    def of_texts(self) -> bool:
        return self._kind in ("string", "varchar", "char", "binary", "boolean")

    def number(self, value: Any) -> float:
        """NaN where the value is missing or of another kind: nothing is known then.

        >>> Scale("long").number("12"), Scale("date").number("1970-01-02"), Scale("string", "ac").number("b")
        (12.0, 719164.0, 0.5)
        """
        if value is None:
            return float("nan")
        try:
            if self.of_texts:
                return self._rank(str(value))
            if self._kind == "date":
                return float((value if isinstance(value, date) else date.fromisoformat(str(value)[:10])).toordinal())
            if self._kind.startswith("timestamp"):
                return _moment(value).timestamp()
            return float(value) if isinstance(value, int | float | Decimal) else float(str(value))
        except (ValueError, OverflowError, TypeError):
            return float("nan")

    def numbers(self, values: Sequence[Any]) -> Numbers:
        return np.array([self.number(v) for v in values], dtype=np.float64)

    def above_prefix(self, prefix: str) -> float:
        """The end of all texts that begin so."""
        return self._rank(prefix + chr(0x10FFFF))

    def _rank(self, text: str) -> float:
        place = bisect_left(self._texts, text)
        return float(place) if place < len(self._texts) and self._texts[place] == text else place - 0.5


@dataclass(frozen=True, slots=True)
class Ranges:
    """Least and greatest values of each column, one entry per file; NaN where a file does not tell."""

    files: int
    least: Mapping[str, Numbers]
    greatest: Mapping[str, Numbers]
    scales: Mapping[str, Scale]

    def kept(self, test: Test) -> Kept:
        """The files that may hold a row for which the test is true."""
        everything = np.ones(self.files, dtype=bool)
        if isinstance(test, Anything):
            return everything
        if isinstance(test, AllOf):
            return np.logical_and.reduce([everything, *(self.kept(p) for p in test.parts)])
        if isinstance(test, AnyOf):
            return np.logical_or.reduce([~everything, *(self.kept(p) for p in test.parts)])
        if test.column not in self.least:
            return everything
        low, high = self.least[test.column], self.greatest[test.column]
        unknown: Kept = np.isnan(low) | np.isnan(high)
        return unknown | self._within(test, low, high)

    def _within(self, test: Compare, low: Numbers, high: Numbers) -> Kept:
        scale = self.scales[test.column]
        values = [scale.number(v) for v in test.values]
        if any(np.isnan(v) for v in values):
            return np.ones(self.files, dtype=bool)
        first, last = min(values), max(values)
        if test.op in ("<", "<="):
            return low < last if test.op == "<" else low <= last
        if test.op in (">", ">="):
            return high > first if test.op == ">" else high >= first
        if test.op == "prefix":
            return (low <= scale.above_prefix(test.values[0])) & (high >= first)
        return (low <= last) & (high >= first)  # `=`; an IN list is compared only by its range, as Delta does


def _moment(value: Any) -> datetime:
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
