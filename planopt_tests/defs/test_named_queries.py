"""A person who names a query asks for it; a range of queries names none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from planopt_assets.defs import jobs, names, stage_assets
from planopt_assets.defs.code_location import CodeLocation
from planopt_assets.defs.dead_runs import PROCESS_TAG, this_process
from planopt_assets.defs.resources import WorkspaceResource, workspace_of
from planopt_assets.loop.run import Run, StageResult
from planopt_tests.conftest import write_workload_file
from planopt_tests.defs.fresh_instance import fresh_instance

pytestmark = pytest.mark.fast

HERE = CodeLocation("planopt.yaml")
NAMES = HERE.names

QUERIES = '  - {id: a, sql: "SELECT 1", owners: [ada@example.com]}\n  - {id: b, sql: "SELECT 2"}\n'


@pytest.fixture
def resource(tmp_path: Path) -> WorkspaceResource:
    (tmp_path / "data" / "sales").mkdir(parents=True)
    return WorkspaceResource(workload=str(write_workload_file(tmp_path, QUERIES, extra="owners: [team:data]")))


def test_planopt_run_knows_better_than_the_configuration_it_makes(resource: WorkspaceResource) -> None:
    run = resource.naming([]).naming(["a", "b"]).run("r", lambda *_: None)
    assert set(run.named) == set()


def test_the_budget_of_a_run_counts_from_the_start_of_its_command(resource: WorkspaceResource) -> None:
    """`planopt run` starts two of them."""
    run = resource.since(1_000.0).run("r", lambda *_: None)
    assert run.deadline == 1_000.0 + run.workload.budgets.per_run


def test_the_queries_of_a_configuration_are_named(resource: WorkspaceResource) -> None:
    told: list[set[str]] = []

    @dg.op(ins={"queries": dg.In(list)}, required_resource_keys={NAMES.workspace})
    def stage(context, queries) -> None:  # type: ignore[no-untyped-def]  # Dagster wants its own type or none
        told.append(set(workspace_of(context, NAMES).run(context.run_id, lambda *_: None).named))

    queries = jobs.selected_queries(HERE)

    @dg.job(executor_def=dg.in_process_executor)
    def selected() -> None:
        stage(queries())

    with fresh_instance() as instance:
        config = {"ops": {"selected_queries": {"config": {"queries": ["b"]}}}}
        selected.execute_in_process(config, instance=instance, resources={NAMES.workspace: resource})
    assert told == [{"b"}]


@pytest.mark.parametrize(("partitions", "named"), [(["a"], {"a"}), (["a", "b"], set())], ids=["one", "a range"])
def test_a_query_that_is_materialized_alone_is_named(
    resource: WorkspaceResource, partitions: list[str], named: set[str]
) -> None:
    told: list[set[str]] = []

    def work(run: Run, query_ids: Any) -> list[StageResult]:
        told.append(set(run.named))
        return []

    assets = stage_assets.stage_assets(
        HERE, "decide", work, deps={"policy_decisions": []}, descriptions={"policy_decisions": "-"}
    )
    with fresh_instance() as instance:
        instance.add_dynamic_partitions(names.PARTITIONS, ["a", "b"])
        tags = {
            "dagster/asset_partition_range_start": partitions[0],
            "dagster/asset_partition_range_end": partitions[-1],
        }
        dg.materialize([assets], instance=instance, resources={NAMES.workspace: resource}, tags=tags)
    assert told == [named]


def test_a_run_says_which_process_it_is_where_one_process_is_the_whole_run(resource: WorkspaceResource) -> None:
    assets = stage_assets.stage_assets(
        HERE, "decide", lambda run, query_ids: [], deps={"policy_decisions": []}, descriptions={"policy_decisions": "-"}
    )
    with fresh_instance() as instance:
        instance.add_dynamic_partitions(names.PARTITIONS, ["a", "b"])
        resources = {NAMES.workspace: resource}
        ran = dg.materialize([assets], instance=instance, resources=resources, partition_key="a")
        found = instance.get_run_by_id(ran.run_id)
    assert found is not None
    assert found.tags[PROCESS_TAG] == this_process()


def test_the_newest_event_of_an_asset_is_the_summary_of_all_queries(resource: WorkspaceResource) -> None:
    def work(run: Run, query_ids: Any) -> list[StageResult]:
        return [StageResult(query, True, "looked at") for query in query_ids]

    assets = stage_assets.stage_assets(
        HERE, "decide", work, deps={"policy_decisions": []}, descriptions={"policy_decisions": "-"}
    )
    with fresh_instance() as instance:
        instance.add_dynamic_partitions(names.PARTITIONS, ["a", "b"])
        tags = {"dagster/asset_partition_range_start": "a", "dagster/asset_partition_range_end": "b"}
        dg.materialize([assets], instance=instance, resources={NAMES.workspace: resource}, tags=tags)
        newest, *others = instance.fetch_materializations(dg.AssetKey("policy_decisions"), limit=9).records
    owners = {
        r.partition_key: r.asset_materialization.metadata["owners"].value for r in others if r.asset_materialization
    }
    assert owners == {"a": "ada@example.com", "b": "team:data"}
    assert newest.partition_key is None
    assert newest.asset_materialization is not None
    said = newest.asset_materialization.metadata
    assert said["overview"].value == "2 queries, 2 in this run: 2 not finished"
    assert "| a | looked at. **Policy:** original in force. |" in str(said["all queries"].value)
