"""Artifacts of a set of queries as text: a changed plan, scan or lineage is a difference a person reviews.

`pytest planopt_tests/observe/test_goldens.py --snapshot-update` writes them anew.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from pyspark.sql import SparkSession
from syrupy.assertion import SnapshotAssertion

from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.observe import observe
from planopt_assets.model.workload import Query, Workload
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.spark

SQL = {
    "filtered": "SELECT id, amount FROM sales WHERE id BETWEEN 350 AND 360 AND note IS NOT NULL",
    "grouped": "SELECT shop, sum(amount) AS total FROM sales GROUP BY shop HAVING sum(amount) > 9 ORDER BY total DESC",
    "joined": "SELECT c.city, count(*) AS n FROM sales s JOIN shops c ON s.shop = c.shop GROUP BY c.city",
    "windowed": "SELECT id, row_number() OVER (PARTITION BY shop ORDER BY id) AS place FROM sales WHERE id < 50",
    "nested": "SELECT city FROM shops WHERE shop IN (SELECT shop FROM sales WHERE amount > 100) AND shop > "
    "(SELECT min(shop) FROM sales)",
    "stacked": "WITH big AS (SELECT shop FROM sales WHERE amount > 90) "
    "SELECT shop FROM big UNION ALL SELECT shop FROM shops WHERE city LIKE '%3'",
}


@pytest.fixture(scope="module")
def done(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Workload, dict[str, str]]:
    folder = make_tables(tmp_path_factory.mktemp("golden"))
    workload = workload_of(folder, [Query(name, sql=sql) for name, sql in SQL.items()])
    run = Run(Workspace(workload), str(uuid.uuid4()))
    return workload, {r.query_id: r.markdown for r in observe(run, list(SQL))}


@pytest.mark.parametrize("query", SQL)
def test_the_artifacts_of_a_query(
    query: str, done: tuple[Workload, dict[str, str]], snapshot: SnapshotAssertion
) -> None:
    workload, texts = done
    reader = StoredRows(workload.store, workload.name)
    (row,) = reader.rows("plan_artifacts", query_id=query)
    nodes = [n for n in reader.rows("plan_nodes", query_id=query) if n["phase"] == "final"]
    described = texts[query].partition("Reads ")[2]
    assert "\n".join([row["canonical_sql"], "", described, "", *map(_node, nodes), "", _facts(row)]) == snapshot


def _node(row: dict[str, Any]) -> str:
    depth = "" if row["parent"] < 0 else f" under {row['parent']}"
    estimate = f"{row['statistics_source']}, estimated {row['estimated_rows']} rows, had {row['actual_rows']}"
    return f"{row['node']}{depth}: {row['detail']} ({estimate})"


def _facts(row: dict[str, Any]) -> str:
    names = ("canonical_form", "udf_rung", "statistics_source", "extractor", "capture_tier", "other_scans")
    facts = {name: row[name] for name in names} | {"parts": sorted(json.loads(row["bundle_parts"]))}
    return json.dumps(facts, indent=1)
