"""The loop in a user's own code location: `examples/own_project`, and a project that `dg` scaffolds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import dagster as dg
import pytest
from pyspark.sql import SparkSession

import planopt_assets.dagster
from planopt_assets.dagster import planopt_definitions
from planopt_assets.defs.component import STARTER
from planopt_assets.errors import WrongValue
from planopt_assets.workload import load_workload
from planopt_tests.conftest import MASTER, SETTINGS, make_tables
from planopt_tests.defs.fresh_instance import fresh_instance
from planopt_tests.defs.test_user_asset import example
from planopt_tests.fresh_python import ROOT

EXAMPLE = ROOT / "examples" / "own_project"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example's workload, over small tables and the suite's session."""
    make_tables(tmp_path)
    shutil.rmtree(tmp_path / "data" / "sales")  # the project writes it
    settings = "\n".join(f"    {name}: {value}" for name, value in SETTINGS.items())
    spark = f"spark:\n  master: {MASTER}\n  settings:\n{settings}\n"
    (tmp_path / "planopt.yaml").write_text((EXAMPLE / "planopt.yaml").read_text() + spark)
    monkeypatch.setenv("SHOP_FOLDER", str(tmp_path))
    return tmp_path


@pytest.mark.e2e
def test_the_example_writes_its_table_and_observes_its_query(spark: SparkSession, folder: Path) -> None:
    made: dg.Definitions = example(EXAMPLE).defs
    with fresh_instance() as instance:
        written = made.resolve_implicit_global_asset_job_def().execute_in_process(
            instance=instance, asset_selection=[dg.AssetKey(["raw", "sales"])]
        )
        assert written.success
        instance.add_dynamic_partitions("tuning_planopt_queries", ["sales_by_shop", "sales_by_city"])
        job = made.resolve_job_def("tuning_observe_only")
        assert job.execute_in_process(instance=instance, partition_key="sales_by_city").success
        summary, record = instance.fetch_materializations(dg.AssetKey(["tuning", "plan_artifacts"]), limit=5).records
        assert summary.partition_key is None
        assert record.partition_key == "sales_by_city"
        assert record.asset_materialization is not None
        lineage = record.asset_materialization.metadata["dagster/column_lineage"].value
        assert isinstance(lineage, dg.TableColumnLineage)
        (amount,), (city,) = (lineage.deps_by_column[name] for name in ("amount", "city"))
        assert amount.asset_key == dg.AssetKey(["raw", "sales"])  # the project's own asset
        assert city.asset_key == dg.AssetKey(["tuning", "tables", "shops"])
        assert instance.fetch_observations(dg.AssetKey(["tuning", "tables", "shops"]), limit=5).records
        assert not instance.fetch_observations(dg.AssetKey(["raw", "sales"]), limit=5).records


@pytest.mark.fast
def test_the_example_has_its_own_names_beside_the_project(folder: Path) -> None:
    made: dg.Definitions = example(EXAMPLE).defs
    dg.Definitions.validate_loadable(made)
    specs = {spec.key.to_user_string(): spec for spec in made.resolve_all_asset_specs()}
    assert {"raw/sales", "tuning/tables/shops", "tuning/verdicts"} <= specs.keys()
    assert "tuning/tables/sales" not in specs
    assert specs["tuning/plan_nodes"].group_name == "query_plans"
    assert specs["tuning/tables/shops"].group_name == "sources"
    assert specs["tuning/verdicts"].group_name == "validate"
    parents = made.resolve_asset_graph().get(dg.AssetKey(["tuning", "input_tables"])).parent_keys
    assert parents == {dg.AssetKey(["raw", "sales"]), dg.AssetKey(["tuning", "tables", "shops"])}
    jobs = {job.name for job in made.resolve_all_job_defs()}
    assert {"tuning_optimize", "tuning_revalidate", "tuning_upkeep"} <= jobs


@pytest.mark.fast
def test_two_workloads_stand_in_one_code_location(folder: Path) -> None:
    both = [planopt_definitions(folder / "planopt.yaml", key_prefix=[name]) for name in ("east", "west")]
    dg.Definitions.validate_loadable(dg.Definitions.merge(*both))


@pytest.mark.fast
def test_a_table_that_the_file_does_not_have_is_refused_by_name(folder: Path) -> None:
    with pytest.raises(WrongValue, match=r"names salles.*use the names of the file: sales, shops"):
        planopt_definitions(folder / "planopt.yaml", tables={"salles": "raw_sales"})


PROJECT = """\
[project]
name = "shop"
version = "0"
[tool.dg]
directory_type = "project"
[tool.dg.project]
root_module = "shop"
registry_modules = ["planopt_assets.dagster"]
"""
DEFINITIONS = """\
from pathlib import Path
import dagster as dg
@dg.definitions
def defs():
    return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)
"""


@pytest.mark.fast
def test_dg_scaffolds_the_component_and_the_project_checks_out(tmp_path: Path) -> None:
    (tmp_path / "shop" / "defs").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "shop" / "__init__.py").touch()
    (tmp_path / "shop" / "defs" / "__init__.py").touch()
    (tmp_path / "shop" / "definitions.py").write_text(DEFINITIONS)
    dg_tool = str(Path(sys.executable).parent / "dg")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}", "DAGSTER_DISABLE_TELEMETRY": "1"}

    def run(*words: str) -> str:
        done = subprocess.run(
            [dg_tool, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("scaffold", "defs", "planopt_assets.dagster.PlanoptComponent", "tuning")
    written = tmp_path / "shop" / "defs" / "tuning"
    assert "type: planopt_assets.dagster.PlanoptComponent" in (written / "defs.yaml").read_text()
    assert (written / "planopt.yaml").read_text() == STARTER
    run("check", "defs")
    assert "tuning/active_policies" in run("list", "defs")


@pytest.mark.fast
def test_the_starter_file_is_valid_and_dg_finds_the_component_where_planopt_is_installed(tmp_path: Path) -> None:
    file = tmp_path / "planopt.yaml"
    file.write_text(STARTER)
    assert [q.id for q in load_workload(file).queries] == ["orders_by_day"]
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert declared["dagster_dg_cli.registry_modules"] == {"planopt": planopt_assets.dagster.__name__}
    assert planopt_assets.dagster.PlanoptComponent
