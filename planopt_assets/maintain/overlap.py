"""How clustered a table really is by a column: into how many files does one value fall?"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any


def overlap_depth(ranges: Iterable[tuple[Any, Any]]) -> float | None:
    """How many files hold the place of a value, on average over the ends of all ranges.

    Worked: files [1, 4], [5, 8], [9, 9] do not overlap: every end lies in one file, 1.0. Three files [1, 9] do wholly:
    every end lies in all three, 3.0. None: fewer than two files, or values that have no common order.

    >>> overlap_depth([(1, 4), (5, 8), (9, 9)]), overlap_depth([(1, 9)] * 3)
    (1.0, 3.0)
    """
    found = list(ranges)
    if len(found) < 2:
        return None
    try:
        starts, ends = sorted(low for low, _ in found), sorted(high for _, high in found)
        places = [place for both in found for place in both]
        return sum(bisect_right(starts, p) - bisect_left(ends, p) for p in places) / len(places)
    except TypeError:
        return None
