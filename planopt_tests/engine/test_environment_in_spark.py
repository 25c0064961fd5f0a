"""The planning environment is that of the workload: it does not depend on which queries ran before."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from planopt_assets.engine.workspace import Workspace
from planopt_assets.model.workload import Query
from planopt_tests.conftest import workload_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FIELD_IDS = "spark.sql.parquet.fieldId.read.enabled"
PLAIN, MAPPED = Query("plain", sql="SELECT shop FROM shops"), Query("mapped", sql="SELECT id FROM mapped")


@pytest.fixture
def mapped(spark: SparkSession, tables: Path) -> Path:
    """The usual tables, and one with column mapping: Delta sets how the Parquet reader finds its columns.

    It does so for every table, when the table is loaded, and a session loads all tables before the first query.
    """
    place = f"delta.`{tables / 'data' / 'mapped'}`"
    mode = "TBLPROPERTIES ('delta.columnMapping.mode' = 'id')"
    spark.newSession().sql(f"CREATE TABLE {place} (id BIGINT) USING delta {mode}")
    return tables


def environment(folder: Path, *queries: Query) -> tuple[str, str]:
    """The hash of the last query's environment, and the value of the setting in its session afterwards."""
    workspace = Workspace(workload_of(folder, list(queries)))
    for query in queries:
        planned = workspace.execute(query, 0, workspace.baseline, timeout_s=60, tier="always_on").planned
    assert planned is not None
    return planned.environment.hash, str(workspace.isolated(workspace.baseline).conf.get(FIELD_IDS))


def test_a_query_on_a_mapped_table_changes_no_environment(mapped: Path) -> None:
    alone, _ = environment(mapped, PLAIN)
    after, set_by_delta = environment(mapped, MAPPED, PLAIN)
    assert set_by_delta == "true"  # or this test shows nothing
    assert after == alone
    assert environment(mapped, PLAIN, MAPPED)[0] == environment(mapped, MAPPED)[0] == alone
