"""Rows appended without Spark: whole, in the declared columns, and readable like all others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets import redaction
from planopt_assets.errors import StoreWriteFailed
from planopt_assets.store.light_append import append_light
from planopt_assets.store.reader import StoreReader
from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES

pytestmark = pytest.mark.fast


def append(root: Path, run_id: str = "r1", **rows: list[dict[str, Any]]) -> None:
    append_light(None, str(root), workload="demo", run_id=run_id, stage="production", rows=rows)  # type: ignore[arg-type]


def run(number: int, **columns: Any) -> dict[str, Any]:
    return {"query_id": "q", "execution_id": f"exe-1f2e-q-{number}", "purpose": "production", **columns}


def test_rows_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    append(tmp_path, runtime_counters=[run(0, tasks=7, action="frame"), run(1, tasks=None)])
    rows = StoreReader(str(tmp_path), "demo").rows("runtime_counters")
    assert [(r["execution_id"], r["tasks"], r["action"]) for r in rows] == [
        ("exe-1f2e-q-0", 7, "frame"),
        ("exe-1f2e-q-1", None, None),
    ]
    assert {(r["workload"], r["run_id"], r["schema_version"]) for r in rows} == {("demo", "r1", SCHEMA_VERSION)}


def test_every_call_is_one_commit_of_each_table_it_has_rows_for(tmp_path: Path) -> None:
    append(tmp_path, runtime_counters=[run(0), run(1)], lineage=[])
    append(tmp_path, runtime_counters=[run(2)], lineage=[])
    reader = StoreReader(str(tmp_path), "demo")
    assert (reader.version("runtime_counters"), reader.version("lineage")) == (1, -1)


def test_an_older_table_gets_the_columns_it_lacks(tmp_path: Path) -> None:
    old = [n for n in TABLES["runtime_counters"].names if n not in ("action", "status", "note")]
    schema = pa.schema([TABLES["runtime_counters"].field(n) for n in old])
    row = {"workload": "demo", "query_id": "q", "execution_id": "obs-1", "schema_version": 1}
    write_deltalake(tmp_path / "runtime_counters", pa.Table.from_pylist([row], schema=schema))
    append(tmp_path, runtime_counters=[run(0, note="why")])
    rows = {r["execution_id"]: r["note"] for r in StoreReader(str(tmp_path), "demo").rows("runtime_counters")}
    assert rows == {"obs-1": None, "exe-1f2e-q-0": "why"}


def test_a_store_that_cannot_be_written_is_one_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file where the folder should be")
    with pytest.raises(StoreWriteFailed, match="could not append to runtime_counters"):
        append(tmp_path / "store", runtime_counters=[run(0)])


def test_secrets_do_not_reach_the_store(tmp_path: Path) -> None:
    redaction.learn(["hunter2-hunter2"])
    append(tmp_path, runtime_counters=[run(0, note="cannot log in with hunter2-hunter2")])
    assert StoreReader(str(tmp_path), "demo").rows("runtime_counters")[0]["note"] == "cannot log in with ***"
