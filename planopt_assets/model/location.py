"""Where a table or a store is: in one spelling, and what kind of place that is."""

from __future__ import annotations

from enum import Enum


class Reach(Enum):
    """How a location is reached."""

    FOLDER = "a folder that this machine mounts"
    OBJECTS = "object storage, which delta-rs reads and writes"
    HADOOP = "a file system of Hadoop, which Spark writes"


_OBJECT_STORAGE = frozenset({"s3", "s3a", "gs", "abfs", "abfss", "az", "azure", "adl"})


def scheme_and_rest(location: str) -> tuple[str, str]:
    """The scheme of a URI, and what follows it. A folder has none.

    >>> scheme_and_rest("s3://bucket/orders"), scheme_and_rest("/data/orders")
    (('s3', 'bucket/orders'), ('', '/data/orders'))
    """
    scheme, separator, rest = location.partition("://")
    return (scheme, rest) if separator else ("", location)


def reach(location: str) -> Reach:
    """
    >>> reach("/data/orders").name, reach("s3://bucket/orders").name, reach("hdfs://name:8020/orders").name
    ('FOLDER', 'OBJECTS', 'HADOOP')
    """
    scheme, _ = scheme_and_rest(location)
    if not scheme:
        return Reach.FOLDER
    return Reach.OBJECTS if scheme.lower() in _OBJECT_STORAGE else Reach.HADOOP


def is_folder(location: str) -> bool:
    """Whether this machine mounts it."""
    return reach(location) is Reach.FOLDER


def plain_path(location: str) -> str:
    """Spark writes `file:/x` or `file:///x` for what users write as `/x`.

    >>> plain_path("file:///data/orders/"), plain_path("s3://bucket/orders")
    ('/data/orders', 's3://bucket/orders')
    """
    local = location.startswith("file:")
    return ("/" + location.removeprefix("file:").lstrip("/") if local else location).rstrip("/")
