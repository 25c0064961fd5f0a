"""The tables of the arms: as appended, and copies that got Delta's own remedies. Each remedy is charged."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from planopt_assets.delta.log_files import LogFiles

REMEDIES = {"delta.autoOptimize.autoCompact": "true", "delta.autoOptimize.optimizeWrite": "true"}


@dataclass
class Charge:
    """What making an arm took: seconds on the clock, CPU of this process and of Java, bytes written, queries run."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    bytes_rewritten: int = 0
    executions: int = 0


@contextmanager
def charged(spent: Path | None = None) -> Iterator[Charge]:
    """What the block takes, added to what a file says was spent before; the file follows however the block ends."""
    before = Charge(**json.loads(spent.read_text())) if spent is not None and spent.exists() else Charge()
    charge = Charge()
    started, cpu = time.perf_counter(), _cpu_s()
    try:
        yield charge
    finally:
        charge.wall_s = before.wall_s + time.perf_counter() - started
        charge.cpu_s = before.cpu_s + _cpu_s() - cpu
        if spent is not None:
            spent.write_text(json.dumps(asdict(charge)))


def _cpu_s() -> float:
    """Of this process and of those it started, ended ones included, so that it never falls."""
    here = psutil.Process()
    times = [p.cpu_times() for p in (here, *here.children(recursive=True))]
    return float(sum(t.user + t.system + t.children_user + t.children_system for t in times))


def copied(tables: Mapping[str, Path], target: Path) -> dict[str, Path]:
    """Fresh copies: the log names its files relative to the table."""
    shutil.rmtree(target, ignore_errors=True)
    fresh = target.with_name(f"{target.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    for name, path in tables.items():
        shutil.copytree(path, fresh / name)
    fresh.rename(target)
    return {name: target / name for name in tables}


def optimized(spark: SparkSession, tables: Mapping[str, Path]) -> Charge:
    """Plain OPTIMIZE of every table, as Delta does it by default."""
    with charged() as charge:
        for path in tables.values():
            done: Any = DeltaTable.forPath(spark, str(path)).optimize().executeCompaction()
            charge.bytes_rewritten += int(done.select("metrics.filesAdded.totalSize").first()[0] or 0)
    return charge


def loaded_with_remedies(
    spark: SparkSession, tables: Mapping[str, Path], target: Path, say: Callable[[str, str, str], None]
) -> tuple[dict[str, Path], Charge]:
    """The same appends by Spark, with auto compaction and optimized writes, beyond what plain appends take.

    Every append is made twice: into a table with Delta's defaults, which is thrown away, and into one with the
    remedies. The charge is the difference, since the load itself has to be paid for by everybody.
    """
    more = [_loaded(spark, source, target, say) for source in tables.values()]
    charge = Charge(
        *(max(0, sum(getattr(one, name) for one in more)) for name in ("wall_s", "cpu_s", "bytes_rewritten"))
    )
    return {name: target / name for name in tables}, charge


def _loaded(spark: SparkSession, source: Path, target: Path, say: Callable[[str, str, str], None]) -> Charge:
    """One table, unless an earlier call has done it; what it took more than plain appends."""
    done = target / f"{source.name}.json"
    if done.exists():
        return Charge(**json.loads(done.read_text()))
    schema, files = spark.read.format("delta").load(str(source)).schema, appended(source)
    took = []
    for place, properties in ((target / "plain" / source.name, {}), (target / source.name, REMEDIES)):
        shutil.rmtree(place, ignore_errors=True)
        with charged() as charge:
            _append(spark, files, schema, place, properties)
        charge.bytes_rewritten = _written(place)
        took.append(charge)
    shutil.rmtree(target / "plain" / source.name)
    plain, remedied = took
    more = Charge(
        remedied.wall_s - plain.wall_s, remedied.cpu_s - plain.cpu_s, remedied.bytes_rewritten - plain.bytes_rewritten
    )
    done.write_text(json.dumps(asdict(more)))
    say("auto_compaction", source.name, f"{len(files)} appends")
    return more


def _append(spark: SparkSession, files: list[Path], schema: Any, place: Path, properties: Mapping[str, str]) -> None:
    empty = DeltaTable.create(spark).location(str(place)).addColumns(schema)
    for key, value in properties.items():
        empty = empty.property(key, value)
    empty.execute()
    for file in files:
        spark.read.schema(schema).parquet(str(file)).write.format("delta").mode("append").save(str(place))


def appended(table: Path) -> list[Path]:
    """The data files of a table in the order in which they were appended."""
    return [table / a["add"]["path"] for a in _actions(table) if "add" in a]


def _written(table: Path) -> int:
    """Bytes of all files that were ever added, merged ones included."""
    return sum(a["add"]["size"] for a in _actions(table) if "add" in a)


def _actions(table: Path) -> Iterator[dict[str, Any]]:
    log = LogFiles(table.name, str(table))
    return (a for version in range(log.newest() + 1) for a in log.commit_actions(version))
