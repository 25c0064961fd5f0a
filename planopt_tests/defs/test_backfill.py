"""A backfill of all queries, by Dagster's own daemon, is one run."""

from __future__ import annotations

import logging
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.execution.backfill import PartitionBackfill
from dagster._core.remote_origin import InProcessCodeLocationOrigin
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import InProcessWorkspaceLoadTarget
from dagster._daemon.backfill import execute_backfill_iteration

from planopt_assets.defs.instance import register_queries
from planopt_assets.defs.names import Names
from planopt_assets.workload import load_workload
from planopt_tests.conftest import write_workload_file

pytestmark = [
    pytest.mark.fast,
    # Dagster's own code asks for it when it loads a code location that has schedules.
    pytest.mark.filterwarnings("ignore:Property `ScheduleDefinition.environment_vars` is deprecated"),
]

IDS = [f"q{number}" for number in range(30)]
KEEPS = {"module": "dagster._core.test_utils", "class": "MockedRunCoordinator"}  # runs are queued, and stay there


def test_all_queries_are_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data" / "sales").mkdir(parents=True)
    file = write_workload_file(tmp_path, "\n".join(f'  - {{id: {q}, sql: "SELECT shop FROM sales"}}' for q in IDS))
    monkeypatch.setenv("PLANOPT_WORKLOAD", str(file))
    target = InProcessWorkspaceLoadTarget(
        InProcessCodeLocationOrigin(LoadableTargetOrigin(module_name="planopt_assets.definitions"))
    )
    with (
        dg.instance_for_test(overrides={"run_coordinator": KEEPS}) as instance,
        WorkspaceProcessContext(instance, target) as daemon,
    ):
        register_queries(instance, load_workload(file))
        backfill = PartitionBackfill.from_asset_partitions(
            backfill_id="all",
            asset_graph=daemon.create_request_context().asset_graph,
            partition_names=None,
            asset_selection=Names().asset_keys,
            backfill_timestamp=1_772_323_200.0,
            tags={},
            dynamic_partitions_store=instance,
            all_partitions=True,
            title=None,
            description=None,
            run_config=None,
        )
        instance.add_backfill(backfill)
        errors = [e for e in execute_backfill_iteration(daemon, logging.getLogger("daemon")) if e]
        assert not errors, errors
        (run,) = instance.get_runs()
        assert run.asset_selection == set(Names().asset_keys)
        assert run.tags["dagster/asset_partition_range_start"] == IDS[0]
        assert run.tags["dagster/asset_partition_range_end"] == IDS[-1]
