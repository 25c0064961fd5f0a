"""Rows drawn from a table: the same ones each time, of every type, with the values of partitions."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.delta.live_files import live_files
from planopt_assets.delta.log_files import LogFiles
from planopt_assets.delta.table_sample import ROWS, table_sample
from planopt_assets.engine.delta.delta_log import read_table_facts
from planopt_assets.model.table_sample import TableSample

pytestmark = pytest.mark.fast


def sampled(table: Path, *columns: str) -> TableSample:
    facts, log = read_table_facts("t", str(table)), LogFiles("t", str(table))
    return table_sample(log.folder, facts, live_files(log, facts), columns)


def rows(start: int, count: int) -> pa.Table:
    ids = list(range(start, start + count))
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "name": pa.array([f"n{i}" for i in ids]),
            "day": pa.array([f"d{i % 2}" for i in ids]),
        }
    )


def test_texts_and_partitions_are_drawn_with_their_rows(tmp_path: Path) -> None:
    for start in (0, 10):
        write_deltalake(tmp_path, rows(start, 10), mode="append", partition_by=["day"])
    found = sampled(tmp_path, "id", "name")
    assert found.rows == 20
    assert sorted(found.columns["id"]) == list(range(20))
    assert all(name == f"n{i}" and day == f"d{i % 2}" for i, name, day in zip(*found.columns.values(), strict=True))


def test_a_large_table_is_sampled_evenly_and_each_time_alike(tmp_path: Path) -> None:
    write_deltalake(tmp_path, rows(0, 3 * ROWS))
    found = sampled(tmp_path, "id")
    assert found.rows == ROWS
    assert found == sampled(tmp_path, "id")
    halves = [sum(i < 3 * ROWS / 2 for i in found.columns["id"]), sum(i >= 3 * ROWS / 2 for i in found.columns["id"])]
    assert abs(halves[0] - halves[1]) < ROWS / 100


def test_a_file_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    for start in (0, 10):
        write_deltalake(tmp_path, rows(start, 10), mode="append")
    next(tmp_path.glob("*.parquet")).write_bytes(b"PAR1")
    assert sampled(tmp_path, "id").rows == 10
