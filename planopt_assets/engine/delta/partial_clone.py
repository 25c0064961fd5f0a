"""A clone cut down to some of its files: their entries alone stay in its log, no data is read or written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planopt_assets.engine.delta.failures import failures, first_line
from planopt_assets.errors import LayoutNotTried
from planopt_assets.maintain.subset import Subset, size_of, subset_of
from planopt_assets.model.data_file import DataFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def cut_down(spark: SparkSession, location: str, limit: float, seed: int) -> Subset | None:
    """Keep as many files as fit into the limit; how many that are. None: all of them fit, and nothing was done."""
    try:
        return _cut_down(spark, location, limit, seed)
    except failures() as error:
        raise LayoutNotTried(
            f"its clone cannot be cut down to {limit / 1e9:.3g} GB: {first_line(error)}",
            where=f"clone {location}",
            fix="raise `maintenance.trial_bytes` so that the whole table is tried, and check the error above",
        ) from error


def _cut_down(spark: SparkSession, location: str, limit: float, seed: int) -> Subset | None:
    from delta.tables import DeltaTable

    log: Any = DeltaTable.forPath(spark, location)._jdt.table().deltaLog()
    snapshot: Any = log.unsafeVolatileSnapshot()
    if float(snapshot.sizeInBytes()) <= limit:
        return None
    jvm: Any = spark._jvm
    found: Any = snapshot.allFiles().collectAsList()
    entries = {str(found.get(i).path()): found.get(i) for i in range(found.size())}
    files = [DataFile(path, int(entry.size())) for path, entry in entries.items()]
    kept = subset_of(files, limit, seed)
    stay = {file.path for file in kept}
    gone = [entry.remove() for path, entry in entries.items() if path not in stay]
    operation = getattr(getattr(jvm.org.apache.spark.sql.delta, "DeltaOperations$ManualUpdate$"), "MODULE$")
    log.startTransaction().commit(jvm.org.apache.spark.api.python.PythonUtils.toSeq(gone), operation)
    return size_of(kept, files)
