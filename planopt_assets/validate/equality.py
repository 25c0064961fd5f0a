"""Compares two whole results by their digests. Only finite floating point has a tolerance."""

from __future__ import annotations

import math
from typing import Literal

from planopt_assets.model.trial import Digest, FloatSummary

# Of the larger of two values. A double sum in another order differs by about 1e-15 per step. A value of 32 bits that
# was rounded from such a sum differs by one unit in its last place, up to 1.2e-7.
RELATIVE = 1e-9
RELATIVE_SINGLE = 5e-7
# Of the mean magnitude of the column: where terms cancel out, what is left of them is small and inexact.
OF_THE_COLUMN = 1e-12
OF_THE_COLUMN_SINGLE = 1e-9

Sameness = Literal["same", "same_within_tolerance", "different"]


def relative(single: bool) -> float:
    return RELATIVE_SINGLE if single else RELATIVE


def of_the_column(single: bool) -> float:
    return OF_THE_COLUMN_SINGLE if single else OF_THE_COLUMN


def compare(expected: Digest, actual: Digest) -> tuple[Sameness, str]:
    """`same` bit for bit, the same within tolerance (floating point only), or different with the reason.

    >>> compare(Digest(3, "a", "b"), Digest(4, "a", "b"))
    ('different', '3 rows expected, 4 found')
    >>> compare(Digest(3, "a", "b", columns="id int"), Digest(3, "a", "b", columns="ID int"))
    ('different', 'columns (id int) expected, (ID int) found')
    """
    if expected.form != actual.form:
        return "different", f"digests of form {expected.form} and {actual.form} cannot be compared"
    if expected.columns != actual.columns:
        return "different", columns_differ(expected.columns, actual.columns)
    if expected.rows != actual.rows:
        return "different", f"{expected.rows:,} rows expected, {actual.rows:,} found"
    if expected.exact != actual.exact:
        return "different", "same number of rows, different values"
    if expected.bits == actual.bits:
        return "same", ""
    for left, right in zip(expected.floats, actual.floats, strict=True):
        if why := _apart(left, right):
            return "different", why
    return "same_within_tolerance", "floating point differs in the last digits"


def columns_differ(expected: str, actual: str) -> str:
    return f"columns ({expected}) expected, ({actual}) found"


def _apart(left: FloatSummary, right: FloatSummary) -> str:
    """Sums that overflowed depend on the order of the rows: they tell nothing, and rows are compared one by one."""
    tolerance = relative(left.single) * max(left.magnitude, right.magnitude)
    if not math.isfinite(tolerance):
        return ""
    for name, a, b in (("sum", left.total, right.total), ("magnitude", left.magnitude, right.magnitude)):
        if abs(a - b) > tolerance:
            return f"column {left.column}: {name} {a!r} expected, {b!r} found"
    return ""
