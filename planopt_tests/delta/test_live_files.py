"""The list of files that planopt replays from a log is the one that delta-rs finds."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from planopt_assets.delta.live_files import live_files, recent_commits
from planopt_assets.delta.log_files import LogFiles
from planopt_assets.engine.delta.delta_log import read_table_facts
from planopt_assets.model.data_file import RowChange
from planopt_tests.engine.logs import ID, add, commit, metadata, table_of

pytestmark = pytest.mark.fast


def rows(start: int, count: int = 10) -> pa.Table:
    ids = list(range(start, start + count))
    return pa.table({"id": pa.array(ids, pa.int64()), "day": [f"d{i % 2}" for i in ids], "x": [i / 3 for i in ids]})


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Appends, a delete that rewrites a file, a checkpoint, and appends after it."""
    folder = tmp_path_factory.mktemp("live") / "t"
    for part in range(4):
        write_deltalake(folder, rows(part * 10), mode="append", partition_by=["day"])
    DeltaTable(folder).delete("id = 3")
    DeltaTable(folder).create_checkpoint()
    write_deltalake(folder, rows(100), mode="append", partition_by=["day"])
    return folder


@pytest.mark.parametrize("version", [0, 3, 4, 5])
def test_the_files_of_every_version_are_those_of_delta_rs(table: Path, version: int) -> None:
    facts = read_table_facts("t", str(table), version)
    found = live_files(LogFiles("t", str(table)), facts)
    others = pa.table(DeltaTable(table, version=version).get_add_actions(flatten=True)).to_pylist()
    told = {
        o["path"]: (o["size_bytes"], o["num_records"], o["min.id"], o["max.id"], o["partition.day"]) for o in others
    }
    seen = {}
    for file in found:
        low, high = file.value_range("id") or (None, None)
        seen[file.path] = (file.bytes, file.rows, low, high, dict(file.partition)["day"])
    assert seen == told


def test_a_partition_is_a_range_of_one_value(table: Path) -> None:
    found = live_files(LogFiles("t", str(table)), read_table_facts("t", str(table)))
    assert {f.value_range("day") for f in found} == {("d0", "d0"), ("d1", "d1")}


def test_commits_tell_what_writers_added_and_removed(table: Path) -> None:
    commits = recent_commits(LogFiles("t", str(table)), 5)
    assert [(c.added_files, c.removed_files) for c in commits] == [(2, 0)] * 4 + [(1, 1), (2, 0)]
    assert all(c.data_change and c.at_ms for c in commits)


def test_commits_tell_the_small_files_of_one_partition(tmp_path: Path) -> None:
    folder = table_of(tmp_path / "t")
    sizes = {"p0": [10, 10, 64 * 2**20], "p1": [10, 64 * 2**20 - 1, 10]}  # the third file is not small
    adds = [
        {"add": {**add(f"{part}-{place}")["add"], "partitionValues": {"day": part}, "size": size}}
        for part, found in sizes.items()
        for place, size in enumerate(found)
    ]
    commit(folder, 1, *adds)
    assert [c.small_files for c in recent_commits(LogFiles("t", str(folder)), 1)] == [0, 3]


def test_commits_tell_rows_that_were_only_copied_where_their_writer_does(tmp_path: Path) -> None:
    folder = table_of(tmp_path / "t")
    merge = {"numTargetRowsUpdated": "2", "numTargetRowsDeleted": "1", "numTargetRowsCopied": "97"}
    told = [
        {"numDeletedRows": "1", "numCopiedRows": "9"},
        {**merge, "numTargetRowsInserted": "1"},
        {"numDeletedRows": "-1", "numCopiedRows": "0"},  # by the log alone: whole files
        {"num_deleted_rows": 1, "num_copied_rows": 9},  # delta-rs
    ]
    for version, metrics in enumerate(told, start=1):
        commit(folder, version, {"commitInfo": {"operation": "X", "operationMetrics": metrics}}, big(version))
    found = [c.row_change for c in recent_commits(LogFiles("t", str(folder)), len(told))]
    assert found == [None, RowChange(1, 9, 1000), RowChange(3, 97, 970), RowChange(0, 0, 0), None]


def big(version: int) -> dict[str, dict[str, object]]:
    return {"add": {**add(f"{version}.parquet")["add"], "size": 1000}}


def test_a_file_that_got_a_deletion_vector_is_one_file_and_was_not_replaced(tmp_path: Path) -> None:
    folder = table_of(tmp_path / "t")
    commit(folder, 1, add("a.parquet"))
    vector = {"storageType": "u", "pathOrInlineDv": "x", "offset": 1, "sizeInBytes": 3, "cardinality": 7}
    marked = {"add": {**add("a.parquet")["add"], "deletionVector": vector}}
    commit(folder, 2, marked, {"remove": {"path": "a.parquet", "dataChange": True}})
    log = LogFiles("t", str(folder))
    (file,) = live_files(log, read_table_facts("t", str(folder)))
    assert (file.path, file.deleted_rows) == ("a.parquet", 7)
    assert [c.removed_files for c in recent_commits(log, 2)] == [0, 0, 0]


def test_statistics_have_logical_names_where_columns_are_mapped(tmp_path: Path) -> None:
    mapped = {**ID, "metadata": {"delta.columnMapping.physicalName": "col-7", "delta.columnMapping.id": 1}}
    folder = table_of(tmp_path / "t", metadata=metadata(mapped, configuration={"delta.columnMapping.mode": "name"}))
    stats = '{"numRecords": 2, "minValues": {"col-7": 1}, "maxValues": {"col-7": 9}}'
    commit(folder, 1, {"add": {**add("a.parquet")["add"], "stats": stats}})
    (file,) = live_files(LogFiles("t", str(folder)), read_table_facts("t", str(folder)))
    assert (file.value_range("id"), file.value_range("col-7")) == ((1, 9), None)
