"""Rows appended without Spark: whole, in the declared columns, once, and readable like all others."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from planopt_assets.errors import StoreWriteFailed
from planopt_assets.model import redaction
from planopt_assets.store import writer
from planopt_assets.store.delta_rs_commit import commit_through_delta_rs
from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES
from planopt_assets.store.write_profile import ROW_GROUP
from planopt_tests.no_spark import no_spark
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.fast


def append(root: Path, run_id: str = "r1", **rows: list[dict[str, Any]]) -> None:
    writer.append(no_spark, str(root), workload="demo", run_id=run_id, stage="production", rows=rows)


def run(number: int, **columns: Any) -> dict[str, Any]:
    return {"query_id": "q", "execution_id": f"exe-1f2e-q-{number}", "purpose": "production", **columns}


def stored(number: int) -> dict[str, Any]:
    """A row as `write` wants it, with the columns all tables have."""
    return {**run(number), "workload": "demo", "schema_version": SCHEMA_VERSION, "run_id": "r1"}


def test_rows_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    append(tmp_path, runtime_counters=[run(0, tasks=7, action="frame"), run(1, tasks=None)])
    rows = StoredRows(str(tmp_path), "demo").rows("runtime_counters")
    assert [(r["execution_id"], r["tasks"], r["action"]) for r in rows] == [
        ("exe-1f2e-q-0", 7, "frame"),
        ("exe-1f2e-q-1", None, None),
    ]
    assert {(r["workload"], r["run_id"], r["schema_version"]) for r in rows} == {("demo", "r1", SCHEMA_VERSION)}


def test_rows_are_written_by_the_profile_of_planopts_own_tables(tmp_path: Path) -> None:
    """One row more than a row group holds: a second group, and zstd in both."""
    schema, count = TABLES["lineage"], ROW_GROUP + 1
    ids = {"child_id": pa.array(map(str, range(count)))}
    rows = pa.table({f.name: ids.get(f.name, pa.nulls(count, f.type)) for f in schema}, schema=schema)
    commit_through_delta_rs(str(tmp_path), "lineage", rows, app_id="a", version=1, after=0)
    (file,) = (tmp_path / "lineage").glob("*.parquet")
    written = pq.ParquetFile(file).metadata
    groups = [written.row_group(i) for i in range(written.num_row_groups)]
    assert [group.num_rows for group in groups] == [128 * 1024, 1]
    assert {g.column(i).compression for g in groups for i in range(g.num_columns)} == {"ZSTD"}


def test_every_call_is_one_commit_of_each_table_it_has_rows_for(tmp_path: Path) -> None:
    append(tmp_path, runtime_counters=[run(0), run(1)], lineage=[])
    append(tmp_path, "r2", runtime_counters=[run(2)], lineage=[])
    reader = StoredRows(str(tmp_path), "demo")
    assert (reader.version("runtime_counters"), reader.version("lineage")) == (1, -1)


def test_an_older_table_gets_the_columns_it_lacks(tmp_path: Path) -> None:
    old = [n for n in TABLES["runtime_counters"].names if n not in ("action", "status", "note")]
    schema = pa.schema([TABLES["runtime_counters"].field(n) for n in old])
    row = {"workload": "demo", "query_id": "q", "execution_id": "obs-1", "schema_version": 1}
    write_deltalake(tmp_path / "runtime_counters", pa.Table.from_pylist([row], schema=schema))
    append(tmp_path, runtime_counters=[run(0, note="why")])
    rows = {r["execution_id"]: r["note"] for r in StoredRows(str(tmp_path), "demo").rows("runtime_counters")}
    assert rows == {"obs-1": None, "exe-1f2e-q-0": "why"}


def test_a_store_that_cannot_be_written_is_one_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file where the folder should be")
    with pytest.raises(StoreWriteFailed, match="could not append to runtime_counters"):
        append(tmp_path / "store", runtime_counters=[run(0)])


def test_secrets_do_not_reach_the_store(tmp_path: Path) -> None:
    redaction.learn(["hunter2-hunter2"])
    append(tmp_path, runtime_counters=[run(0, note="cannot log in with hunter2-hunter2")])
    assert StoredRows(str(tmp_path), "demo").rows("runtime_counters")[0]["note"] == "cannot log in with ***"


def test_the_same_run_and_stage_again_changes_nothing(tmp_path: Path) -> None:
    append(tmp_path, runtime_counters=[run(0)])
    append(tmp_path, runtime_counters=[run(1)])
    reader = StoredRows(str(tmp_path), "demo")
    assert reader.version("runtime_counters") == 0
    assert [r["execution_id"] for r in reader.rows("runtime_counters")] == ["exe-1f2e-q-0"]


def test_an_older_version_of_a_transaction_is_skipped_and_a_newer_one_is_not(tmp_path: Path) -> None:
    for version in (2, 1, 2, 3):
        writer.write(no_spark, str(tmp_path), "runtime_counters", [stored(version)], app_id="a", version=version)
    rows = StoredRows(str(tmp_path), "demo").rows("runtime_counters")
    assert sorted(r["execution_id"] for r in rows) == ["exe-1f2e-q-2", "exe-1f2e-q-3"]


@pytest.mark.parametrize("one_transaction", [False, True])
def test_of_many_that_write_at_once_nothing_is_lost_and_nothing_is_there_twice(
    tmp_path: Path, one_transaction: bool
) -> None:
    def commits(who: int) -> None:
        for number in range(10):
            rows = [stored(100 * who + number)]
            app_id, version = ("all", 1 + number) if one_transaction else (f"{who}-{number}", 1)
            writer.write(no_spark, str(tmp_path), "runtime_counters", rows, app_id=app_id, version=version)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(commits, range(4)))
    rows = StoredRows(str(tmp_path), "demo").rows("runtime_counters")
    numbers = [int(r["execution_id"].rpartition("-")[2]) for r in rows]
    assert len(numbers) == len(set(numbers)) == (10 if one_transaction else 40)
    assert {n % 100 for n in numbers} == set(range(10))
