"""DuckDB's answer to a query over the same files: an independent opinion on what Spark returned."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
from deltalake import DeltaTable

from benchmarks.tpc.texts import Suite, texts

if TYPE_CHECKING:
    from benchmarks.tpc.capture_all import Check
    from planopt_assets.model.workload import Workload

Row = tuple[Any, ...]
# Spark rounds averages and quotients of decimals to six digits or so, DuckDB makes them floating point.
_TOLERANCE = 1e-5
_LIKE_SPARK = {
    # Where a text leaves the order of NULLs open, each engine has its own; before a LIMIT that changes the rows.
    "default_null_order": "nulls_first_on_asc_last_on_desc",
    # A division by zero has no value, instead of NaN.
    "ieee_floating_point_ops": "false",
}


class Oracle:
    """DuckDB over the Parquet files that are in the newest version of each Delta table."""

    def __init__(self, tables: Mapping[str, Path]) -> None:
        self._connection = duckdb.connect()
        for name, value in _LIKE_SPARK.items():
            self._connection.execute(f"SET {name} = '{value}'")
        for name, path in tables.items():
            self._connection.read_parquet(sorted(DeltaTable(path).file_uris())).create_view(name)

    def rows(self, sql: str) -> list[Row]:
        return self._connection.execute(sql).fetchall()


def results_check(workload: Workload, suite: Suite) -> Check:
    """Compares the rows of a query with DuckDB's, which gets the text as it was before any adaptation."""
    oracle = Oracle({table.name: Path(str(table.path)) for table in workload.tables})
    originals = texts(suite)

    def check(query_id: str, rows: Sequence[Row]) -> str:
        found = difference(oracle.rows(originals[query_id]), rows)
        return f"DuckDB against Spark: {found}" if found else ""

    return check


def difference(expected: Iterable[Row], actual: Iterable[Row]) -> str:
    """The first difference between two results in any order, or nothing; numbers may differ by rounding.

    >>> difference([(1, Decimal("0.333333"))], [(1, 1 / 3)])
    ''
    >>> difference([(1, "a")], [(1, "b")])
    "1 of 1 rows differ, first (1, 'a') against (1, 'b')"
    """
    left, right = (sorted(map(tuple, rows), key=_sort_key) for rows in (expected, actual))
    if len(left) != len(right):
        return f"{len(left)} rows against {len(right)}"
    pairs = [(a, b) for a, b in zip(left, right, strict=True) if not _same_row(a, b)]
    return f"{len(pairs)} of {len(left)} rows differ, first {pairs[0][0]} against {pairs[0][1]}" if pairs else ""


def _same_row(left: Row, right: Row) -> bool:
    return len(left) == len(right) and all(map(_same_value, left, right))


def _same_value(left: object, right: object) -> bool:
    if _rounded(left) and _rounded(right):
        return math.isclose(left, right, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)  # type: ignore[arg-type]
    return left == right


def _rounded(value: object) -> bool:
    return isinstance(value, int | float | Decimal)


def _sort_key(row: Row) -> tuple[Any, ...]:
    """Exact values first: two sides that differ by rounding only must come out in the same order."""
    exact = tuple((v is not None, str(v)) for v in row if not _rounded(v))
    return exact, tuple(round(float(v), 3) for v in row if _rounded(v))
