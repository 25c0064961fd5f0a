"""A clone cut down to some of its files: their entries alone stay in its log, no data is read or written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planopt_assets.engine.delta.failures import failures, first_line
from planopt_assets.errors import LayoutNotTried
from planopt_assets.maintain.subset import describe_subset, subset_of
from planopt_assets.model.data_file import DataFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def cut_down(spark: SparkSession, location: str, limit: float, seed: int) -> str:
    """Keep as many files as fit into the limit; which, in words. Empty: all of them fit, and nothing was done."""
    try:
        return _cut_down(spark, location, limit, seed)
    except failures() as error:
        raise LayoutNotTried(
            f"its clone cannot be cut down to {limit / 1e9:.3g} GB: {first_line(error)}",
            where=f"clone {location}",
            fix="raise `maintenance.trial_bytes` so that the whole table is tried, and check the error above",
        ) from error


def _cut_down(spark: SparkSession, location: str, limit: float, seed: int) -> str:
    from delta.tables import DeltaTable

    log: Any = DeltaTable.forPath(spark, location)._jdt.table().deltaLog()
    snapshot: Any = log.unsafeVolatileSnapshot()
    if float(snapshot.sizeInBytes()) <= limit:
        return ""
    jvm: Any = spark._jvm
    found: Any = snapshot.allFiles().collectAsList()
    entries = {str(found.get(i).path()): found.get(i) for i in range(found.size())}
    files = [DataFile(path, int(entry.size())) for path, entry in entries.items()]
    kept = subset_of(files, limit, seed)
    stay = {file.path for file in kept}
    gone = [entry.remove() for path, entry in entries.items() if path not in stay]
    operation = getattr(getattr(jvm.org.apache.spark.sql.delta, "DeltaOperations$ManualUpdate$"), "MODULE$")
    log.startTransaction().commit(jvm.org.apache.spark.api.python.PythonUtils.toSeq(gone), operation)
    return describe_subset(kept, files)
