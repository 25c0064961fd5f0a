"""Since when tables cannot be read, and which of them a person should hear of. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

Outages = Mapping[str, float]
"""By table, since when it cannot be read, in seconds since 1970."""


def outages(before: Outages, lost: Collection[str], now: float) -> dict[str, float]:
    return {table: before.get(table, now) for table in lost}


def lasting(found: Outages, now: float, *, patience: float, told: Collection[str]) -> list[str]:
    """A table that is rewritten is away for a moment: nobody is told before it was away for as long as the patience.

    One that somebody was told about stays told, also if the cursor with its time was lost.

    >>> lasting({"sales": 0.0, "shops": 800.0, "stock": 899.0}, 900.0, patience=900.0, told={"stock"})
    ['sales', 'stock']
    """
    return [table for table, since in found.items() if now - since >= patience or table in told]
