"""The example of a user's own asset: it runs as it is, is right, and runs under the policy once there is one."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from pyspark.sql import SparkSession

from planopt_assets.dagster import PlanoptResource
from planopt_assets.engine.user_job.production import Executions
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.workload import load_workload
from planopt_tests.conftest import make_tables
from planopt_tests.defs.fresh_instance import fresh_instance
from planopt_tests.fresh_python import ROOT
from planopt_tests.promoted import chain, promote_by_hand
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.e2e

THREE = Policy.of({"spark.sql.shuffle.partitions": "3"})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example in a folder of its own, with data."""
    made = tmp_path / "user_asset"
    shutil.copytree(ROOT / "examples" / "user_asset", made)
    make_tables(made)
    with (made / "planopt.yaml").open("a") as declared:
        declared.write("control_share: 0\n")
    monkeypatch.setenv("TARGET", str(tmp_path / "out"))
    return made


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with fresh_instance() as made:
        yield made


def example(folder: Path) -> Any:
    spec = importlib.util.spec_from_file_location("user_asset_definitions", folder / "definitions.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def materialize(folder: Path, instance: dg.DagsterInstance) -> tuple[dict[str, Any], dg.ExecuteInProcessResult]:
    module = example(folder)
    result = dg.materialize([module.sales_by_shop], resources=module.defs.resources, instance=instance)
    (event,) = result.asset_materializations_for_node("sales_by_shop")
    return {name: value.value for name, value in event.metadata.items()}, result


def stored(folder: Path) -> list[dict[str, Any]]:
    workload = load_workload(folder / "planopt.yaml")
    rows = StoredRows(workload.store, workload.name).rows("runtime_counters")
    return [r for r in rows if r["purpose"] == "production"]


def test_the_asset_runs_as_original_and_after_a_promotion_under_the_policy(
    spark: SparkSession, folder: Path, instance: dg.DagsterInstance
) -> None:
    first, run = materialize(folder, instance)
    assert (first["applied"], first["reason"]) == (False, "no policy has been promoted yet")
    written = sales(spark, first["path"])
    assert sorted(written) == list(range(17))
    assert sum(written.values()) == 1800
    (row,) = stored(folder)
    assert (row["run_id"], row["action"], row["policy_id"]) == (run.run_id, "write", ORIGINAL.id)

    workload = load_workload(folder / "planopt.yaml")
    promote_by_hand(workload.store, *chain("sales_by_shop", THREE, workload=workload.name))
    before = Executions(spark).newest()
    second, run = materialize(folder, instance)
    assert (second["applied"], second["generation"], second["policy"]) == (True, 1, "shuffle.partitions=3")
    assert any(", 3), ENSURE_REQUIREMENTS" in text for text in executed_since(spark, before))
    assert sales(spark, second["path"]) == written
    assert [(r["run_id"], r["policy_id"]) for r in stored(folder)][1:] == [(run.run_id, THREE.id)]


def sales(spark: SparkSession, path: str) -> dict[int, int]:
    return {row.shop: row.sales for row in spark.read.format("delta").load(path).collect()}


def executed_since(spark: SparkSession, execution: int) -> list[str]:
    store: Any = spark._jsparkSession.sharedState().statusStore()
    found = store.executionsList(0, int(store.executionsCount()))
    return [
        str(found.apply(i).physicalPlanDescription())
        for i in range(found.size())
        if int(found.apply(i).executionId()) > execution
    ]


def test_what_ran_outside_of_a_block_is_recorded_when_the_dagster_run_ends(
    spark: SparkSession, folder: Path, instance: dg.DagsterInstance
) -> None:
    @dg.asset
    def how_many(planopt: PlanoptResource) -> int:
        return len(planopt.tuned(spark, "sales_by_shop").sql().collect())

    planopt = PlanoptResource(workload=str(folder / "planopt.yaml"))
    result = dg.materialize([how_many], resources={"planopt": planopt}, instance=instance)
    assert result.output_for_node("how_many") == 17
    assert [(r["run_id"], r["action"]) for r in stored(folder)] == [(result.run_id, "frame")]


def test_the_example_loads_as_a_project_of_its_own(folder: Path) -> None:
    dg.Definitions.validate_loadable(example(folder).defs)
