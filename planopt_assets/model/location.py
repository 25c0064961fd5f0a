"""Where a table is, in one spelling."""

from __future__ import annotations


def plain_path(location: str) -> str:
    """Spark writes `file:/x` or `file:///x` for what users write as `/x`.

    >>> plain_path("file:///data/orders/"), plain_path("s3://bucket/orders")
    ('/data/orders', 's3://bucket/orders')
    """
    local = location.startswith("file:")
    return ("/" + location.removeprefix("file:").lstrip("/") if local else location).rstrip("/")
