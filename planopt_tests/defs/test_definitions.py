"""The asset graph as text: a change of keys, dependencies, groups or checks is a reviewed difference."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from planopt_assets.definitions import defs

pytestmark = pytest.mark.fast

GRAPH = """\
active_policies [promote] <- verdicts; checks: not_regressed
candidate_plans [replan] <- policy_decisions
input_tables [observe]; checks: contract_kept, protocol_compatible
plan_artifacts [observe]; checks: deterministic, plan_topology_stable
plan_nodes [observe]; checks: estimates_sane
policy_decisions [decide] <- plan_artifacts, plan_nodes, runtime_counters
runtime_counters [observe]
scan_outcomes [observe]; checks: native_scan, pushdown_effective
trials [validate] <- candidate_plans
verdicts [validate] <- candidate_plans; checks: results_equal"""


def test_the_asset_graph_is_the_loop() -> None:
    graph = defs().resolve_asset_graph()
    lines = []
    for key in sorted(graph.get_all_asset_keys()):
        node = graph.get(key)
        deps = ", ".join(sorted(k.to_user_string() for k in node.parent_keys))
        checks = ", ".join(sorted(k.name for k in graph.asset_check_keys if k.asset_key == key))
        line = f"{key.to_user_string()} [{node.group_name}]" + (f" <- {deps}" if deps else "")
        lines.append(line + (f"; checks: {checks}" if checks else ""))
    assert "\n".join(lines) == GRAPH


def test_every_asset_has_one_partition_per_query_and_runs_ranges_in_one_run() -> None:
    graph = defs().resolve_asset_graph()
    for key in graph.get_all_asset_keys():
        node = graph.get(key)
        assert isinstance(node.partitions_def, dg.DynamicPartitionsDefinition)
        assert node.partitions_def.name == "planopt_queries"
        assert node.backfill_policy == dg.BackfillPolicy.single_run()


def test_both_jobs_run_in_one_process() -> None:
    for name in ("optimize", "optimize_selected"):
        assert defs().resolve_job_def(name).executor_def.name == "in_process"


def test_definitions_are_loadable() -> None:
    dg.Definitions.validate_loadable(defs())


def test_the_project_checks_out_with_dagsters_own_tool() -> None:
    dg_tool = Path(sys.executable).parent / "dg"
    root = Path(__file__).parents[2]
    done = subprocess.run([dg_tool, "check", "defs"], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
