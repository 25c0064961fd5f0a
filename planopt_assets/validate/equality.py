"""Compares two whole results by their digests. Only floating point has a tolerance."""

from __future__ import annotations

import math
from typing import Literal

from planopt_assets.model.trial import Digest

RELATIVE = 1e-9  # of the column's summed magnitude: a reordered double sum differs by about 1e-15 per step
ABSOLUTE = 1e-9

Sameness = Literal["same", "same_within_tolerance", "different"]


def compare(expected: Digest, actual: Digest) -> tuple[Sameness, str]:
    """`same` bit for bit, the same within tolerance (floating point only), or different with the reason.

    >>> compare(Digest(3, "a", "b"), Digest(4, "a", "b"))
    ('different', '3 rows expected, 4 found')
    """
    if expected.rows != actual.rows:
        return "different", f"{expected.rows:,} rows expected, {actual.rows:,} found"
    if expected.exact != actual.exact:
        return "different", "same number of rows, different values"
    if expected.bits == actual.bits:
        return "same", ""
    for left, right in zip(expected.floats, actual.floats, strict=True):
        if left.specials != right.specials:
            return (
                "different",
                f"column {left.column}: {left.specials} NaN or infinite values expected, {right.specials} found",
            )
        tolerance = max(ABSOLUTE, RELATIVE * max(left.magnitude, right.magnitude))
        for name, a, b in (("sum", left.total, right.total), ("magnitude", left.magnitude, right.magnitude)):
            if not math.isclose(a, b, rel_tol=0.0, abs_tol=tolerance):
                return "different", f"column {left.column}: {name} {a!r} expected, {b!r} found"
    return "same_within_tolerance", "floating point differs in the last digits"
