"""Protocol decisions agree with the running Delta: each feature it has, features nobody has, versions of the future."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from planopt_assets.engine.delta.delta_log import read_table_facts
from planopt_assets.engine.delta.protocol import READER_FEATURES, REQUIRES, WRITER_FEATURES, readable, writable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Shape = tuple[int, int, list[str] | None, list[str] | None]  # reader and writer version, their features


def needed_by(feature: str) -> set[str]:
    """A feature with all that it requires."""
    return {feature}.union(*(needed_by(other) for other in REQUIRES.get(feature, ())))


def shape_of(features: set[str]) -> Shape:
    readers = sorted(features & READER_FEATURES)
    return (3 if readers else 1, 7, readers or None, sorted(features))


SHAPES: dict[str, Shape] = {
    "plain": (1, 2, None, None),
    "column_mapping_by_version": (2, 5, None, None),
    "writer_six": (1, 6, None, None),
    "future_reader": (4, 7, [], []),
    "future_writer": (1, 8, None, []),
    "future_both": (4, 8, [], []),
    "unknown_reader_feature": (3, 7, ["aether"], ["aether"]),
    "unknown_writer_feature": (1, 7, None, ["aether"]),
    "unknown_beside_known": (3, 7, ["deletionVectors", "aether"], ["deletionVectors", "aether"]),
    "writer_feature_of_readers": (3, 7, ["rowTracking"], ["rowTracking", "domainMetadata"]),
    **{f"{name} alone": shape_of({name}) for name in sorted(WRITER_FEATURES)},
    **{f"{name} with what it needs": shape_of(needed_by(name)) for name in sorted(REQUIRES)},
}


@pytest.fixture(scope="module")
def source(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("protocols") / "source"
    spark.range(3).coalesce(1).write.format("delta").save(str(folder))
    return folder


def table_with(source: Path, folder: Path, shape: str) -> Path:
    """The same table with another protocol in its first commit, as if other software had written it."""
    table = folder / shape.replace(" ", "_")
    shutil.copytree(source, table)
    for checksum in (table / "_delta_log").glob("*.crc"):  # Hadoop's, which are hidden, too
        checksum.unlink()
    reader, writer, readers, writers = SHAPES[shape]
    protocol: dict[str, Any] = {"minReaderVersion": reader, "minWriterVersion": writer}
    protocol |= {} if readers is None else {"readerFeatures": readers}
    protocol |= {} if writers is None else {"writerFeatures": writers}
    commit = table / "_delta_log" / f"{0:020d}.json"
    lines = [json.loads(line) for line in commit.read_text().splitlines()]
    lines = [{"protocol": protocol} if "protocol" in line else line for line in lines]
    commit.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return table


def spark_reads(spark: SparkSession, table: Path) -> str:
    return _error(lambda: spark.read.format("delta").load(str(table)).collect())


def spark_writes(spark: SparkSession, table: Path) -> str:
    return _error(lambda: spark.range(1).coalesce(1).write.format("delta").mode("append").save(str(table)))


def _error(action: Any) -> str:
    """The error that Spark gives; empty where it works."""
    try:
        action()
    except Exception as error:  # noqa: BLE001  # whatever Spark raises is its answer
        return str(error).strip()[:400] or type(error).__name__
    return ""


def answers(spark: SparkSession, source: Path, folder: Path, shape: str) -> tuple[tuple[bool, bool], tuple[str, str]]:
    """Whether planopt refuses to read and to write such a table, and what Spark says then."""
    table = table_with(source, folder, shape)
    facts = read_table_facts("t", str(table))
    refused = (bool(readable(facts)), bool(writable(facts)))
    return refused, (spark_reads(spark, table), spark_writes(spark, table))


def test_refused_exactly_where_spark_fails_to_read_or_to_write(
    spark: SparkSession, source: Path, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(4) as pool:  # most of the time Spark waits for its own driver
        found = dict(zip(SHAPES, pool.map(lambda shape: answers(spark, source, tmp_path, shape), SHAPES), strict=True))
    assert {s: a for s, a in found.items() if a[0] != (bool(a[1][0]), bool(a[1][1]))} == {}
    assert {a[0] for a in found.values()} == {(False, False), (False, True), (True, True)}
