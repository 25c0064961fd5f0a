"""A store of the first schema version goes on: older rows read with nulls, new rows land beside them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from planopt_assets.loop.histories import histories
from planopt_assets.store import writer
from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.stored_rows import StoredRows

FIRST_VERSION = {
    "plan_artifacts": "python_version",
    "plan_nodes": "metrics",
    "runtime_counters": "result_rows",
    "policy_decisions": "catalogue_version",
    "candidate_plans": "input_fingerprint",
    "trials": "input_fingerprint",
    "verdicts": "input_fingerprint",
    "active_policies": "chain_hash",
    "lineage": "stage",
}
"""The last column each table had in schema version 1; it may not move."""


def first_schema(table: str) -> pa.Schema:
    schema = TABLES[table]
    return pa.schema(list(schema)[: schema.get_field_index(FIRST_VERSION[table]) + 1])


def old_row(table: str) -> dict[str, object]:
    values = {"schema_version": 1, "workload": "w", "query_id": "q", "run_id": "r1", "binding": 0, "status": "captured"}
    values |= {"recorded_at": datetime(2024, 1, 1, tzinfo=UTC), "observation_id": "obs-1"}
    return {name: values.get(name) for name in first_schema(table).names}


@pytest.fixture
def old_store(tmp_path: Path) -> Path:
    for table in FIRST_VERSION:
        schema = first_schema(table)
        write_deltalake(tmp_path / "store" / table, pa.Table.from_pylist([old_row(table)], schema=schema))
    return tmp_path / "store"


@pytest.mark.fast
def test_rows_of_the_first_version_have_nulls_for_what_came_later(old_store: Path) -> None:
    reader = StoredRows(str(old_store), "w")
    for table in FIRST_VERSION:
        (row,) = reader.rows(table)
        later = set(TABLES[table].names) - set(first_schema(table).names)
        assert all(row[name] is None for name in later), table
        assert row["schema_version"] == 1


@pytest.mark.fast
def test_tables_that_did_not_exist_are_empty_and_history_goes_back_to_the_first_row(old_store: Path) -> None:
    reader = StoredRows(str(old_store), "w")
    assert reader.rows("scan_outcomes") == []
    assert [o.run_id for o in histories(Snapshot(reader.root, "w"), ["q"])["q"].observations] == ["r1"]


@pytest.mark.spark
def test_a_new_row_lands_beside_the_old_ones_and_brings_the_columns(spark: SparkSession, old_store: Path) -> None:
    row = {"query_id": "q", "observation_id": "obs-2", "binding": 0, "status": "captured", "bundle_hash": "bun_1"}
    writer.append(
        lambda: spark, str(old_store), workload="w", run_id="r2", stage="observe", rows={"plan_artifacts": [row]}
    )
    rows = StoredRows(str(old_store), "w").rows("plan_artifacts")
    assert [(r["schema_version"], r["bundle_hash"]) for r in rows] == [(1, None), (SCHEMA_VERSION, "bun_1")]
    assert spark.read.format("delta").load(f"{old_store}/plan_artifacts").columns == TABLES["plan_artifacts"].names
