"""The tables of the arms: as appended, and copies that got Delta's own remedies. Each remedy is charged."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from planopt_assets.delta.log_files import LogFiles

REMEDIES = {"delta.autoOptimize.autoCompact": "true", "delta.autoOptimize.optimizeWrite": "true"}


@dataclass
class Charge:
    """What making an arm took: seconds on the clock, CPU of this process and of Java, and bytes written."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    bytes_rewritten: int = 0


@contextmanager
def charged() -> Iterator[Charge]:
    charge = Charge()
    started, cpu = time.perf_counter(), _cpu_s()
    yield charge
    charge.wall_s, charge.cpu_s = time.perf_counter() - started, _cpu_s() - cpu


def _cpu_s() -> float:
    here = psutil.Process()
    times = [p.cpu_times() for p in (here, *here.children(recursive=True))]
    return float(sum(t.user + t.system for t in times))


def copied(tables: Mapping[str, Path], target: Path) -> dict[str, Path]:
    """Fresh copies: the log names its files relative to the table."""
    shutil.rmtree(target, ignore_errors=True)
    return {name: Path(shutil.copytree(path, target / name)) for name, path in tables.items()}


def optimized(spark: SparkSession, tables: Mapping[str, Path]) -> Charge:
    """Plain OPTIMIZE of every table, as Delta does it by default."""
    with charged() as charge:
        for path in tables.values():
            done: Any = DeltaTable.forPath(spark, str(path)).optimize().executeCompaction()
            charge.bytes_rewritten += int(done.select("metrics.filesAdded.totalSize").first()[0] or 0)
    return charge


def loaded_with_remedies(spark: SparkSession, tables: Mapping[str, Path], target: Path) -> dict[str, Path]:
    """The same appends by Spark, with auto compaction and optimized writes; kept, since loading takes minutes."""
    made = {name: target / name for name in tables}
    if (target / ".done").exists():
        return made
    shutil.rmtree(target, ignore_errors=True)
    for name, source in tables.items():
        schema = spark.read.format("delta").load(str(source)).schema
        empty = DeltaTable.create(spark).location(str(made[name])).addColumns(schema)
        for key, value in REMEDIES.items():
            empty = empty.property(key, value)
        empty.execute()
        for file in appended(source):
            spark.read.schema(schema).parquet(str(file)).write.format("delta").mode("append").save(str(made[name]))
    (target / ".done").touch()
    return made


def appended(table: Path) -> list[Path]:
    """The data files of a table in the order in which they were appended."""
    log = LogFiles(table.name, str(table))
    actions = (a for version in range(log.newest() + 1) for a in log.commit_actions(version))
    return [table / a["add"]["path"] for a in actions if "add" in a]
