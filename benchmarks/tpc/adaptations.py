"""Where Spark SQL needs other words than DuckDB: every change to a text, with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Adaptation:
    """In each of these queries, every `old` becomes `new`."""

    queries: tuple[str, ...]
    old: str
    new: str
    reason: str


ADAPTATIONS = (
    Adaptation(
        queries=tuple(f"tpcds_q{number}" for number in (16, 32, 50, 62, 92, 94, 95, 99)),
        old='"',
        new="`",
        reason="Spark reads a name in double quotes as a string; it quotes names with backticks",
    ),
    Adaptation(
        queries=("tpcds_q12",),
        old="/sum(sum(ws_ext_sales_price)) OVER (PARTITION BY i_class)",
        new="/nullif(sum(sum(ws_ext_sales_price)) OVER (PARTITION BY i_class), 0)",
        reason="a class without sales is a division by zero: an error in Spark (ANSI), no value in DuckDB",
    ),
)


def adapted(query_id: str, text: str, adaptations: tuple[Adaptation, ...] = ADAPTATIONS) -> str:
    """The text Spark gets; an adaptation that finds nothing to change is out of date, and an error.

    >>> adapted("tpcds_q16", 'SELECT 1 AS "order count"')
    'SELECT 1 AS `order count`'
    >>> adapted("tpcds_q16", "SELECT 1 AS orders")
    Traceback (most recent call last):
    ValueError: tpcds_q16 holds no '"' to adapt
    """
    for adaptation in adaptations:
        if query_id in adaptation.queries:
            if adaptation.old not in text:
                raise ValueError(f"{query_id} holds no {adaptation.old!r} to adapt")
            text = text.replace(adaptation.old, adaptation.new)
    return text


def reasons(query_id: str) -> tuple[str, ...]:
    """Why the text of a query was changed; empty for most."""
    return tuple(a.reason for a in ADAPTATIONS if query_id in a.queries)
