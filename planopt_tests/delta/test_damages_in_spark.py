"""What Spark reads over without a word, readiness reports: each damage of a table that Spark wrote, one at a time."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from planopt_assets.engine.delta.pins import Pins
from planopt_assets.loop.stages.readiness import look_at
from planopt_assets.loop.table_standing import table_standings
from planopt_assets.model.table_readiness import TableReadiness
from planopt_assets.model.workload import Table, Workload
from planopt_assets.store.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
COMMITS, ROWS = 4, 500


@pytest.fixture(scope="module")
def source(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damages") / "source"
    for part in range(COMMITS):
        frame = spark.range(part * ROWS, (part + 1) * ROWS, 1, 1).selectExpr("id", "id * 7 AS seven", "uuid() AS text")
        frame.write.format("delta").mode("append").save(str(folder))
    return folder


def readiness(table: Path, most_bytes: int | None = None) -> TableReadiness:
    """As the loop finds it, of a workload without queries and without a store."""
    workload = Workload("w", table / "planopt.yaml", str(table.parent / "store"), (Table("t", str(table)),), ())
    snapshot = Snapshot(workload.store, workload.name)
    standing = table_standings(workload, snapshot, Pins())["t"]
    return look_at(workload, snapshot, standing, now=datetime.now(UTC), most_bytes=most_bytes)[0]


def rows_in_spark(spark: SparkSession, table: Path) -> int:
    """A full read; `count(*)` alone would be answered from the log."""
    return len(spark.read.format("delta").load(str(table)).select("id", "seven", "text").collect())


def commit(table: Path, version: int) -> Path:
    return table / "_delta_log" / f"{version:020d}.json"


def without_hadoop(table: Path) -> None:
    for file in [*table.glob(".*.crc"), *(table / "_delta_log").glob(".*.crc")]:
        file.unlink()


def without_checksums(table: Path) -> None:
    without_hadoop(table)
    for file in (table / "_delta_log").glob("*.crc"):
        file.unlink()


def empty_last(table: Path) -> None:
    without_hadoop(table)
    commit(table, COMMITS - 1).write_bytes(b"")


def empty_middle(table: Path) -> None:
    without_hadoop(table)
    commit(table, 1).write_bytes(b"")


def extra_empty(table: Path) -> None:
    commit(table, COMMITS).write_bytes(b"")


def last_missing(table: Path) -> None:
    """Delta's own checksum file is gone too; Hadoop's stay, because nobody sees them."""
    commit(table, COMMITS - 1).unlink()
    (table / "_delta_log" / f"{COMMITS - 1:020d}.crc").unlink()


def cut_last(table: Path) -> None:
    without_hadoop(table)
    lines = commit(table, COMMITS - 1).read_text().splitlines(keepends=True)
    commit(table, COMMITS - 1).write_text("".join(line for line in lines if '"add"' not in line))


def cut_middle(table: Path) -> None:
    without_hadoop(table)
    lines = commit(table, 1).read_text().splitlines(keepends=True)
    commit(table, 1).write_text("".join(line for line in lines if '"add"' not in line))


SILENT: dict[str, Callable[[Path], None]] = {
    "empty_last": empty_last,
    "empty_middle": empty_middle,
    "extra_empty": extra_empty,
    "last_missing": last_missing,
    "cut_last": cut_last,
    "cut_middle": cut_middle,
}


@pytest.mark.parametrize("damage", SILENT)
def test_lost_rows_that_spark_does_not_notice_are_an_error(
    spark: SparkSession, source: Path, tmp_path: Path, damage: str
) -> None:
    table = tmp_path / damage
    shutil.copytree(source, table)
    SILENT[damage](table)
    lost = 0 if damage == "extra_empty" else ROWS
    assert rows_in_spark(spark, table) == COMMITS * ROWS - lost  # no error: this is what makes it dangerous
    found = readiness(table)
    assert (found.ready, found.integrity, found.findings[0].severity) == (False, "damaged", "error")


def test_the_table_as_spark_wrote_it_is_verified(source: Path) -> None:
    found = readiness(source)
    assert (found.ready, found.integrity, found.files, found.rows) == (True, "verified", COMMITS, COMMITS * ROWS)
    assert not [f for f in found.findings if f.severity == "error"]


def test_a_missing_data_file_is_found_before_a_query_fails(source: Path, tmp_path: Path) -> None:
    table = tmp_path / "t"
    shutil.copytree(source, table)
    gone = next(table.glob("part-*.parquet"))
    gone.unlink()
    found = readiness(table)
    assert found.findings[0].consequence == f"a data file is gone: every query that needs it fails ({gone.name})"


def test_a_shortened_data_file_is_found_without_reading_it(source: Path, tmp_path: Path) -> None:
    table = tmp_path / "t"
    shutil.copytree(source, table)
    short = next(table.glob("part-*.parquet"))
    short.write_bytes(short.read_bytes()[:-10])
    assert "its log notes" in readiness(table, most_bytes=0).findings[0].consequence


def test_flipped_bits_that_spark_returns_as_rows_are_found_by_the_checksums_of_pages(
    spark: SparkSession, source: Path, tmp_path: Path
) -> None:
    """Every flip in the pages is found; at least one of them Spark reads as if nothing were."""
    table = tmp_path / "t"
    shutil.copytree(source, table)
    without_checksums(table)
    file = sorted(table.glob("part-*.parquet"))[0]
    whole, silent, places = file.read_bytes(), 0, (600, 3000, 9000, 15000, 20000)
    for place in places:
        flipped = bytearray(whole)
        flipped[place] ^= 0x10
        file.write_bytes(bytes(flipped))
        found = readiness(table)
        assert [f.cause for f in found.findings if f.severity == "error"] == ["damaged"], place
        try:
            rows_in_spark(spark, table)
        except Exception:  # noqa: BLE001  # Spark noticed it by itself: that is no concern of this test
            continue
        silent += 1
    assert silent
