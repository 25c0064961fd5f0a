"""How many files and bytes a table has now, as Delta counts them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class TableSize:
    """Of the newest version."""

    files: int
    bytes: int


def table_size(spark: SparkSession, location: str) -> TableSize:
    from delta.tables import DeltaTable

    detail = DeltaTable.forPath(spark, location).detail().select("numFiles", "sizeInBytes").first()
    assert detail is not None, "every Delta table has one row of details"
    return TableSize(int(detail[0]), int(detail[1]))
