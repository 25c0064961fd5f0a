"""The asset graph as text: a change of keys, dependencies, groups or checks is a reviewed difference."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from planopt_assets.definitions import defs
from planopt_assets.defs.project import planopt_definitions
from planopt_assets.defs.promote import NIGHTLY
from planopt_assets.errors import PlanoptError

pytestmark = pytest.mark.fast

WORKLOAD = """\
version: 1
name: shop
tables: {sales: data/sales, shops: data/shops}
queries:
  - {id: by_shop, sql: SELECT shop FROM sales}
"""

GRAPH = """\
active_policies [promote] <- verdicts; checks: conditions_hold, not_regressed
candidate_plans [replan] <- policy_decisions
input_tables [observe] <- tables/sales, tables/shops; checks: contract_kept, protocol_compatible
layout_proposals [readiness] <- scan_outcomes
layout_verdicts [maintain] <- layout_proposals
maintenance_actions [maintain] <- layout_verdicts
plan_artifacts [observe] <- input_tables; checks: deterministic, plan_topology_stable
plan_nodes [observe] <- input_tables; checks: estimates_sane
policy_decisions [decide] <- plan_artifacts, plan_nodes, runtime_counters
runtime_counters [observe] <- input_tables
scan_outcomes [observe] <- input_tables; checks: native_scan, pushdown_effective
table_readiness [readiness] <- scan_outcomes, tables/sales, tables/shops; checks: table_ready
tables/sales [tables]
tables/shops [tables]
trials [validate] <- candidate_plans
verdicts [validate] <- candidate_plans; checks: gain_proven, results_equal"""


@pytest.fixture
def workload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two tables that do not exist: loading the definitions reads none."""
    file = tmp_path / "planopt.yaml"
    file.write_text(WORKLOAD)
    monkeypatch.setenv("PLANOPT_WORKLOAD", str(file))
    return file


def lines_of(definitions: dg.Definitions) -> list[str]:
    graph = definitions.resolve_asset_graph()
    lines = []
    for key in sorted(graph.get_all_asset_keys()):
        node = graph.get(key)
        deps = ", ".join(sorted(k.to_user_string() for k in node.parent_keys))
        checks = ", ".join(sorted(k.name for k in graph.asset_check_keys if k.asset_key == key))
        line = f"{key.to_user_string()} [{node.group_name}]" + (f" <- {deps}" if deps else "")
        lines.append(line + (f"; checks: {checks}" if checks else ""))
    return lines


def test_the_asset_graph_is_the_loop_and_starts_at_the_tables(workload: Path) -> None:
    assert "\n".join(lines_of(defs())) == GRAPH


def test_a_source_table_is_external_and_says_where_it_is(workload: Path) -> None:
    sales = defs().resolve_asset_graph().get(dg.AssetKey(["tables", "sales"]))
    assert not sales.is_executable
    assert sales.metadata["dagster/uri"] == str(workload.parent / "data/sales")
    assert sales.metadata["dagster/table_name"] == "sales"


def test_without_a_workload_file_the_loop_is_there_and_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANOPT_WORKLOAD", "/nowhere/planopt.yaml")
    lines = lines_of(defs())
    assert "input_tables [observe]; checks: contract_kept, protocol_compatible" in lines
    assert not [line for line in lines if line.startswith("tables/")]


def test_a_workload_file_with_an_error_stops_the_code_location_with_line_and_fix(workload: Path) -> None:
    workload.write_text(WORKLOAD.replace("queries:", "querys:"))
    with pytest.raises(PlanoptError, match="querys"):
        defs()


ABOUT_TABLES = {"table_readiness", "layout_proposals", "layout_verdicts", "maintenance_actions"}


def test_every_asset_has_one_partition_per_query_or_table_and_runs_ranges_in_one_run(workload: Path) -> None:
    graph = defs().resolve_asset_graph()
    for key in graph.materializable_asset_keys:
        node = graph.get(key)
        assert isinstance(node.partitions_def, dg.DynamicPartitionsDefinition)
        expected = "planopt_tables" if key.to_user_string() in ABOUT_TABLES else "planopt_queries"
        assert node.partitions_def.name == expected
        assert node.backfill_policy == dg.BackfillPolicy.single_run()


JOBS = ("lay_out_selected", "observe_only", "optimize", "optimize_selected", "revalidate", "take_back", "upkeep")


def test_every_job_runs_in_one_process_and_is_never_retried() -> None:
    jobs = {job.name: job for job in defs().resolve_all_job_defs() if not job.name.startswith("__")}
    assert sorted(jobs) == list(JOBS)
    for job in jobs.values():
        assert job.executor_def.name == "in_process"
        assert job.tags["dagster/max_retries"] == "0"


def test_a_sweep_that_no_longer_runs_is_seen_by_the_freshness_of_active_policies() -> None:
    (spec,) = (s for s in defs().resolve_all_asset_specs() if s.key == dg.AssetKey("active_policies"))
    assert spec.freshness_policy == NIGHTLY
    assert [s.key for s in defs().resolve_all_asset_specs() if s.freshness_policy] == [spec.key]


def test_what_a_page_needs_for_a_first_look_is_there(workload: Path) -> None:
    for spec in planopt_definitions(workload, owners=["team:data"]).resolve_all_asset_specs():
        assert spec.description
        assert spec.description.endswith(".")
        assert "deltalake" in spec.kinds
        assert list(spec.owners) == ["team:data"]
        assert "docs" in spec.metadata


def specs_of(file: Path, **more: object) -> dict[str, dg.AssetSpec]:
    made = planopt_definitions(file, **more)  # type: ignore[arg-type]
    return {spec.key.to_user_string(): spec for spec in made.resolve_all_asset_specs()}


def test_owners_are_those_of_the_table_of_the_queries_and_of_the_workload(workload: Path) -> None:
    owned = WORKLOAD.replace("sales: data/sales", "sales: {path: data/sales, owners: [team:sales]}")
    owned = owned.replace("FROM sales}", "FROM sales, owners: [ada@example.com]}") + "owners: [team:data]\n"
    workload.write_text(owned)
    specs = specs_of(workload, owners=["team:platform"])
    assert list(specs["tables/sales"].owners) == ["team:sales"]
    assert list(specs["tables/shops"].owners) == ["team:platform", "team:data"]
    assert list(specs["verdicts"].owners) == ["team:platform", "team:data", "ada@example.com"]
    assert list(specs["table_readiness"].owners) == ["team:platform", "team:data", "team:sales"]


@pytest.mark.parametrize("owner", ["ada", "team:", "ada@example", "\u00e4@example.com", "a b@example.com"])
def test_an_owner_that_dagster_would_refuse_is_an_error_of_the_file(workload: Path, owner: str) -> None:
    workload.write_text(WORKLOAD + f"owners: ['{owner}']\n")
    with pytest.raises(PlanoptError, match="an e-mail address, or a team as `team:name`"):
        planopt_definitions(workload)


def test_descriptions_link_to_the_docs_where_they_are_served(workload: Path) -> None:
    assert str(specs_of(workload)["verdicts"].description).endswith(" More: `docs/validate.md` of planopt.")
    workload.write_text(WORKLOAD + "docs_url: https://docs.example.com/planopt/\n")
    for spec in specs_of(workload).values():
        assert spec.description is not None
        assert "[More](https://docs.example.com/planopt/" in spec.description
        assert str(spec.metadata["docs"].value).startswith("https://docs.example.com/planopt/")
        page = str(spec.metadata["docs"].value).rpartition("/")[2]
        assert (Path(__file__).parents[2] / "docs" / page).is_file()


def test_definitions_are_loadable() -> None:
    dg.Definitions.validate_loadable(defs())


def test_the_project_checks_out_with_dagsters_own_tool() -> None:
    dg_tool = Path(sys.executable).parent / "dg"
    root = Path(__file__).parents[2]
    done = subprocess.run([dg_tool, "check", "defs"], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
