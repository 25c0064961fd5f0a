"""A store that is not a plain folder is written through Spark: the same rows, the same exactly once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from planopt_assets.errors import StoreWriteFailed
from planopt_assets.store import writer
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.spark


def append(spark: SparkSession, root: str, run_id: str, child: str) -> None:
    rows: dict[str, list[dict[str, Any]]] = {"lineage": [{"query_id": "q", "child_id": child, "parent_id": "p"}]}
    writer.append(lambda: spark, root, workload="w", run_id=run_id, stage="decide", rows=rows)


def test_rows_written_through_spark_are_read_like_all_others_and_a_repeated_stage_is_skipped(
    spark: SparkSession, tmp_path: Path
) -> None:
    for run_id, child in (("r1", "c1"), ("r1", "again"), ("r2", "c2")):
        append(spark, f"file://{tmp_path}", run_id, child)
    assert sorted(r["child_id"] for r in StoredRows(str(tmp_path), "w").rows("lineage")) == ["c1", "c2"]


def test_both_ways_of_writing_go_on_where_the_other_stopped(spark: SparkSession, tmp_path: Path) -> None:
    append(spark, str(tmp_path), "r1", "c1")
    append(spark, f"file://{tmp_path}", "r2", "c2")
    append(spark, f"file://{tmp_path}", "r1", "again")
    append(spark, str(tmp_path), "r2", "again")
    assert sorted(r["child_id"] for r in StoredRows(str(tmp_path), "w").rows("lineage")) == ["c1", "c2"]


def test_a_store_that_cannot_be_written_is_one_error_that_says_so(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file where the folder should be")
    with pytest.raises(StoreWriteFailed, match="could not append to lineage"):
        append(spark, f"file://{tmp_path}/store", "r1", "c1")
