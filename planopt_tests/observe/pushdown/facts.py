"""Scans made by hand: the smallest facts a rule needs."""

from __future__ import annotations

from typing import Any

from planopt_assets.model.scan import (
    ColumnOffer,
    Conjunct,
    Expression,
    Funnel,
    Place,
    ScanFacts,
    Size,
    TableScanInfo,
)
from planopt_assets.observe.pushdown.expressions import key, sql

OFFERS = TableScanInfo(
    "orders",
    3,
    (
        ColumnOffer("id", "long", "min_max"),
        ColumnOffer("code", "string", "min_max"),
        ColumnOffer("ts", "timestamp", "min_max"),
        ColumnOffer("flag", "boolean", "null_count"),
        ColumnOffer("late", "long", "none"),
        ColumnOffer("tags", "array", "null_count"),
        ColumnOffer("day", "date", "none", partition=True),
    ),
    files=8,
    bytes=800,
)
TYPES = {c.path: c.type for c in OFFERS.columns}


def column(name: str) -> Expression:
    return Expression("Column", name, TYPES[name])


def literal(value: object, kind: str = "long") -> Expression:
    return Expression("Literal", str(value), kind)


def compare(op: str, name: str, value: object) -> Expression:
    return Expression(op, args=(column(name), literal(value, TYPES[name])))


def call(op: str, *args: Expression, name: str = "", kind: str = "") -> Expression:
    return Expression(op, name, kind, args)


def conjunct(expression: Expression, place: Place = "data", inferred: bool = False) -> Conjunct:
    return Conjunct(sql(expression), expression, place, inferred)


def scan(*conjuncts: Conjunct, read: int = 800, rows: int = 800, matched: int | None = 8, **changes: Any) -> ScanFacts:
    """A scan of eight files in which Delta used every data filter, as far as the caller does not say otherwise."""
    data = [c.expression for c in conjuncts if c.place == "data"]
    defaults: dict[str, Any] = {
        "table": "orders",
        "version": 3,
        "position": 0,
        "file_index": "PreparedDeltaFileIndex",
        "native": True,
        "columns": ("id",),
        "conjuncts": conjuncts,
        "pushed_filters": (),
        "skipping_filters": tuple(key(e) for e in data),
        "unused_filters": (),
        "runtime_filters": (),
        "skipping_type": "dataSkippingOnlyV1",
        "funnel": Funnel(
            total=Size(8, 800, 800),
            partition=Size(8, 800, 800),
            scanned=Size(read // 100, read, rows),
            read=Size(read // 100, read, rows),
            matched=Size(rows=matched),
        ),
    }
    return ScanFacts(**{**defaults, **changes})
