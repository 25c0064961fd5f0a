"""Assets about tables in a real Dagster: one partition per table, debt as numbers, and a check for each table."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from planopt_assets.defs.code_location import CodeLocation
from planopt_assets.defs.resources import WorkspaceResource
from planopt_assets.defs.table_stages import maintain_op, readiness_assets, table_ready_check
from planopt_assets.loop.stages import maintain as stage
from planopt_assets.workload import load_workload
from planopt_tests.conftest import make_tables, write_workload_file
from planopt_tests.loop.scripted_layouts import Observed, Trials, propose

pytestmark = pytest.mark.fast

QUERIES = '  - {id: cities, sql: "SELECT city FROM shops"}\n'
RANGE = {"dagster/asset_partition_range_start": "sales", "dagster/asset_partition_range_end": "shops"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_workload_file(make_tables(tmp_path, files=12), QUERIES)


def materialized(file: Path, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    """Both tables in one run, as a range of partitions."""
    location = CodeLocation(str(file), tables=load_workload(file).tables)
    instance.add_dynamic_partitions("planopt_tables", ["sales", "shops"])
    observed = dg.AssetSpec("scan_outcomes", partitions_def=location.queries)
    definitions = dg.Definitions(
        assets=[observed, readiness_assets(location)],
        asset_checks=[table_ready_check(location)],
        resources={location.names.workspace: WorkspaceResource(workload=str(file))},
        jobs=[dg.define_asset_job("look", ["table_readiness", "layout_proposals"])],
    )
    job = definitions.resolve_job_def("look")
    return job.execute_in_process(instance=instance, tags=RANGE, raise_on_error=False)


def test_each_table_is_materialized_with_its_debt_and_checked_by_itself(file: Path) -> None:
    (file.parent / "data" / "shops" / "_delta_log" / f"{0:020d}.json").write_bytes(b"")
    with dg.instance_for_test() as instance:
        result = materialized(file, instance)
        assert result.success
        records = instance.fetch_materializations(dg.AssetKey("table_readiness"), limit=10).records
        seen = {r.partition_key: r.asset_materialization for r in records}
        checks = {e.partition: e for e in result.get_asset_check_evaluations() if e.partition}
    assert set(seen) == {"sales", "shops"}
    assert seen["sales"] is not None
    assert seen["sales"].metadata["debt_files"].value == 11
    assert seen["sales"].metadata["files"].value == 12
    assert (checks["sales"].passed, checks["sales"].severity) == (False, dg.AssetCheckSeverity.WARN)
    assert (checks["shops"].passed, checks["shops"].severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert "commit 0 in its log is empty" in str(checks["shops"].description)


@pytest.mark.parametrize("outcome", ["accept", "reject"])
def test_a_verdict_that_changes_no_table_is_shown_by_the_job_over_queries(
    file: Path, monkeypatch: pytest.MonkeyPatch, outcome: str
) -> None:
    """Accepted under `maintain: by_hand`, or rejected: the table stays, and the asset has the verdict."""
    file.write_text(file.read_text().replace("sales: data/sales", "sales: {path: data/sales, maintain: by_hand}"))
    workload, trials = load_workload(file), Trials(lambda *_: outcome)
    (query,) = workload.queries
    Observed(workload, query, "run-1")
    propose(workload)
    monkeypatch.setattr(stage, "try_layouts", trials)
    location = CodeLocation(str(file), tables=workload.tables)
    step = maintain_op(location, "maintain_selected")

    @dg.op
    def asked() -> list:
        return [query.id]

    @dg.job(resource_defs={location.names.workspace: WorkspaceResource(workload=str(file))})
    def lay_out() -> None:
        step(asked())

    with dg.instance_for_test() as instance:
        assert lay_out.execute_in_process(instance=instance).success
        records = instance.fetch_materializations(dg.AssetKey("layout_verdicts"), limit=10).records
        (seen,) = [r.asset_materialization for r in records if r.asset_materialization]
        assert seen.partition == "sales"
        assert str(seen.metadata["details"].value).startswith(f"**{outcome}**")
        assert lay_out.execute_in_process(instance=instance).success
        assert len(instance.fetch_materializations(dg.AssetKey("layout_verdicts"), limit=10).records) == 1
