"""The bytes of a table from its log alone: as delta-rs counts them, and as Delta's own checksum file says."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from planopt_assets.delta.log_size import log_size
from planopt_assets.engine.delta.pins import Pins


def write(table: Path, rows: int, mode: str = "append") -> None:
    write_deltalake(table, pa.table({"n": pa.array(range(rows), pa.int64())}), mode=mode)  # type: ignore[call-overload]


def counted(table: Path) -> int:
    return sum(DeltaTable(table).get_add_actions(flatten=True)["size_bytes"].to_pylist())


@pytest.mark.fast
def test_commits_add_up_and_what_was_removed_does_not_count(tmp_path: Path) -> None:
    table = tmp_path / "t"
    write(table, 10)
    write(table, 1000)
    assert log_size("t", str(table), 1) == counted(table)
    write(table, 5, mode="overwrite")
    assert log_size("t", str(table), 2) == counted(table)
    assert log_size("t", str(table), 1) > log_size("t", str(table), 2)


@pytest.mark.fast
def test_a_checkpoint_stands_in_for_the_commits_before_it(tmp_path: Path) -> None:
    table = tmp_path / "t"
    write(table, 10)
    write(table, 1000)
    DeltaTable(table).create_checkpoint()
    write(table, 20)
    for version in (0, 1):
        (table / "_delta_log" / f"{version:020d}.json").unlink()
    assert log_size("t", str(table), 2) == counted(table)


@pytest.mark.fast
def test_a_pinned_table_without_a_checksum_file_has_a_size(tmp_path: Path) -> None:
    write(tmp_path / "t", 10)
    assert not list((tmp_path / "t" / "_delta_log").glob("*.crc"))
    assert Pins().state("t", str(tmp_path / "t")).bytes == counted(tmp_path / "t")


@pytest.mark.spark
@pytest.mark.parametrize("policy", ["classic", "v2"])
def test_the_log_says_what_deltas_checksum_file_says(spark: SparkSession, tmp_path: Path, policy: str) -> None:
    table = str(tmp_path / "t")
    for step in range(4):
        frame = spark.range(100 * (step + 1)).coalesce(1).write.format("delta").mode("append")
        frame.option("delta.checkpointPolicy", policy).option("delta.checkpointInterval", "2").save(table)
    listed = (tmp_path / "t" / "_delta_log").rglob("*.parquet")
    assert any("_sidecars" in str(file) for file in listed) is (policy == "v2")
    assert Pins().facts("t", table).bytes == log_size("t", table, 3)
