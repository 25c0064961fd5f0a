"""What each leaf column of a table offers to predicates: statistics, partitioning, type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planopt_assets.model.scan import ColumnOffer, Statistics
from planopt_assets.observe.pushdown.expressions import type_name

_PHYSICAL = "delta.columnMapping.physicalName"
_WITH_MIN_MAX = {"byte", "short", "integer", "long", "float", "double", "date", "timestamp", "timestamp_ntz", "string"}


def column_offers(
    schema: Mapping[str, Any], with_statistics: Mapping[str, Any], partition_columns: Sequence[str]
) -> tuple[ColumnOffer, ...]:
    """Every leaf of `schema` (Spark's JSON). `with_statistics` is the part for which Delta collects statistics.

    >>> leaf = {"name": "id", "type": "long", "metadata": {}}
    >>> column_offers({"fields": [leaf]}, {"fields": []}, [])
    (ColumnOffer(path='id', type='long', statistics='none', partition=False, physical='id'),)
    """
    indexed = {path for path, _, _ in _leaves(with_statistics)}
    partitions = {name.casefold() for name in partition_columns}
    return tuple(
        ColumnOffer(path, kind, _statistics(kind) if path in indexed else "none", path.casefold() in partitions, actual)
        for path, kind, actual in _leaves(schema)
    )


def _statistics(kind: str) -> Statistics:
    return "min_max" if kind in _WITH_MIN_MAX or kind.startswith("decimal") else "null_count"


def _leaves(struct: Mapping[str, Any], path: str = "", physical: str = "") -> Iterator[tuple[str, str, str]]:
    for field in struct["fields"]:
        kind, name = field["type"], path + field["name"]
        actual = physical + field.get("metadata", {}).get(_PHYSICAL, field["name"])
        if type_name(kind) == "struct":
            yield from _leaves(kind, f"{name}.", f"{actual}.")
        else:
            yield name, type_name(kind), actual
