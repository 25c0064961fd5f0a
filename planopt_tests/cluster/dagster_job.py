"""The loop as a Dagster job in this process, on the cluster of its workload file."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import dagster as dg
import yaml

from planopt_assets.defs import names, resources
from planopt_assets.loop import run
from planopt_assets.loop.run import read_standings
from planopt_assets.workload import load_workload
from planopt_tests.cluster.driver import RULES
from planopt_tests.defs.fresh_instance import fresh_instance
from planopt_tests.one_pass import BY_SHOP


def ran_in_dagster(folder: Path, master: str, settings: dict[str, str]) -> dict[str, Any]:
    """`optimize_selected` over one query, as a schedule launches it; then once more."""
    file = _workload_file(folder, master, settings)
    os.environ[resources.WORKLOAD_VARIABLE] = str(file)
    resources.Run = partial(run.Run, rules=RULES)  # type: ignore[misc,assignment]
    from planopt_assets.definitions import defs

    config = names.Names().run_config([BY_SHOP.id], job=names.OPTIMIZE_SELECTED_JOB)
    with fresh_instance() as instance:
        job = defs().resolve_job_def(names.OPTIMIZE_SELECTED_JOB)
        first = job.execute_in_process(instance=instance, raise_on_error=False, run_config=config)
        materialized = [a for assets in names.ASSETS.values() for a in assets if _has(instance, a)]
        again = job.execute_in_process(instance=instance, raise_on_error=False, run_config=config)
    (verdict,) = read_standings(load_workload(file))[BY_SHOP.id].verdicts
    active = read_standings(load_workload(file))[BY_SHOP.id].active
    return {
        "success": [first.success, again.success],
        "materialized": materialized,
        "checks": {e.check_name: e.passed for e in _evaluations(first)},
        "outcome": verdict.outcome,
        "by_run": verdict.stamp.run_id == first.run_id,
        "cores": verdict.conditions.proven.cores,
        "in_force": active is not None and active.policy == verdict.policy,
    }


def _workload_file(folder: Path, master: str, settings: dict[str, str]) -> Path:
    file = folder / "planopt.yaml"
    fields = {
        "version": 1,
        "name": "dagster",
        "store": "dagster_store",
        "mode": "auto",
        "spark": {"master": master, "settings": settings},
        "budgets": {"explore": 0},
        "tables": {table.name: f"data/{table.name}" for table in (folder / "data").iterdir()},
        "queries": [{"id": BY_SHOP.id, "sql": BY_SHOP.sql, "runs_per_day": BY_SHOP.runs_per_day}],
    }
    file.write_text(yaml.safe_dump(fields))
    return file


def _has(instance: dg.DagsterInstance, asset: str) -> bool:
    records = instance.fetch_materializations(dg.AssetKey(asset), limit=100).records
    return BY_SHOP.id in {record.partition_key for record in records}


def _evaluations(result: dg.ExecuteInProcessResult) -> list[Any]:
    found = [e for e in result.all_events if e.event_type == dg.DagsterEventType.ASSET_CHECK_EVALUATION]
    return [e.event_specific_data for e in found if e.event_specific_data.partition == BY_SHOP.id]
