"""How many files and bytes a table has now, as Delta counts them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt_assets.engine.delta.failures import failures, first_line
from planopt_assets.errors import MaintenanceFailed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class TableSize:
    """Of the newest version."""

    files: int
    bytes: int


def table_size(spark: SparkSession, location: str) -> TableSize:
    from delta.tables import DeltaTable

    try:
        detail = DeltaTable.forPath(spark, location).detail().select("numFiles", "sizeInBytes").first()
    except failures() as error:
        raise MaintenanceFailed(
            f"its size cannot be read: {first_line(error)}", where=location, fix="check the error above"
        ) from error
    assert detail is not None, "every Delta table has one row of details"
    return TableSize(int(detail[0]), int(detail[1]))
