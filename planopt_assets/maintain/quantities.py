"""Bytes, numbers, seconds and days as people read them; `-` is unknown."""

from __future__ import annotations


def megabytes(size: float | None) -> str:
    """
    >>> megabytes(48_000_000), megabytes(None)
    ('48.0 MB', '-')
    """
    return "-" if size is None else f"{size / 1e6:,.1f} MB"


def number(value: int | None) -> str:
    """
    >>> number(1200), number(None)
    ('1,200', '-')
    """
    return "-" if value is None else f"{value:,}"


def hours(value: float | None) -> str:
    """
    >>> hours(168.0), hours(1.5), hours(None)
    ('168 hours', '1.5 hours', '-')
    """
    return "-" if value is None else f"{value:g} hours"


def in_seconds(ns: int | None) -> float | None:
    """
    >>> in_seconds(12_300_000_000), in_seconds(None)
    (12.3, None)
    """
    return None if ns is None else ns / 1e9


def seconds(value: float | None) -> str:
    """
    >>> seconds(12.34), seconds(None)
    ('12.3 s', '-')
    """
    return "-" if value is None else f"{value:,.1f} s"


def pay_back(days: float | None) -> str:
    """When a rewrite has paid for itself.

    >>> pay_back(2.42), pay_back(0.0043), pay_back(None)
    ('break-even after 2.4 days', 'break-even after 0.0043 days', 'never breaks even')
    """
    return "never breaks even" if days is None else f"break-even after {days:.2g} days"
