"""The loop inside a real Dagster instance: one run for many queries, evidence per query, and no way around promote."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from pyspark.sql import SparkSession

from planopt_assets.definitions import defs
from planopt_assets.defs import names
from planopt_assets.defs.instance import register_queries
from planopt_assets.loop.gates import CHECKS
from planopt_assets.loop.run import read_standings
from planopt_assets.model.workload import Workload
from planopt_assets.store.codecs.deciding import VERDICTS
from planopt_assets.store.store import Store
from planopt_assets.workload import load_workload
from planopt_tests.conftest import make_tables, write_workload_file
from planopt_tests.defs.fresh_instance import fresh_instance
from planopt_tests.one_pass import OnePass

pytestmark = pytest.mark.e2e

QUERIES = """\
  - {id: by_shop, sql: "SELECT shop, count(*) AS n FROM sales GROUP BY shop", runs_per_day: 1000}
  - {id: cities, sql: "SELECT city FROM shops WHERE shop = 3"}
  - {id: forbidden, sql: "SELECT * FROM csv.`/etc/hostname`"}"""
SHORT = "budgets: {per_candidate: 3, per_query: 60, per_run: 300, explore: 0}"
IDS = ["by_shop", "cities", "forbidden"]


@pytest.fixture
def file(spark: SparkSession, tmp_path: Path) -> Path:
    return write_workload_file(make_tables(tmp_path), QUERIES, mode="advise", extra=SHORT)


@pytest.fixture
def instance(file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    monkeypatch.setenv("PLANOPT_WORKLOAD", str(file))
    with fresh_instance() as made:
        register_queries(made, load_workload(file))
        yield made


def execute(instance: dg.DagsterInstance, job: str, **options: Any) -> dg.ExecuteInProcessResult:
    return defs().resolve_job_def(job).execute_in_process(instance=instance, raise_on_error=False, **options)


def materialized(instance: dg.DagsterInstance, asset: str) -> dict[str, dict[str, Any]]:
    """Partition -> metadata of the newest materialization."""
    records = instance.fetch_materializations(dg.AssetKey(asset), limit=100, ascending=True).records
    return {
        str(r.partition_key): {k: v.value for k, v in r.asset_materialization.metadata.items()}
        for r in records
        if r.asset_materialization
    }


def evaluations(result: dg.ExecuteInProcessResult, check: str) -> dict[str, dg.AssetCheckEvaluation]:
    """Partition -> evaluation of a check in one run."""
    found = [
        e.event_specific_data for e in result.all_events if e.event_type == dg.DagsterEventType.ASSET_CHECK_EVALUATION
    ]
    return {str(e.partition): e for e in found if e.check_name == check}


def test_a_range_of_queries_is_one_run_with_numbers_and_checks_per_query(
    instance: dg.DagsterInstance, file: Path
) -> None:
    whole = {"dagster/asset_partition_range_start": IDS[0], "dagster/asset_partition_range_end": IDS[-1]}
    result = execute(instance, names.OPTIMIZE_JOB, tags=whole)
    assert result.success
    for assets in names.ASSETS.values():
        for asset in assets:
            found = materialized(instance, asset)
            newest = found.pop("None")  # what the page shows that is not of one query
            assert set(found) == set(IDS), asset
            assert all(isinstance(m["changed"], int) and m["summary"] and m["query"] for m in found.values())
            assert newest["overview"].startswith("3 queries, 3 in this run: ")
            assert all(f"| {query} | " in newest["all queries"] for query in IDS)
    observed = materialized(instance, "plan_artifacts")
    assert observed["by_shop"]["result_rows"] == 17
    assert float(str(observed["by_shop"]["cpu_s"])) > 0
    lineage = observed["by_shop"]["dagster/column_lineage"]
    assert isinstance(lineage, dg.TableColumnLineage)
    (source,) = lineage.deps_by_column["shop"]
    assert (source.asset_key, source.column_name) == (dg.AssetKey(["tables", "sales"]), "shop")
    assert "PLN-101" in str(observed["forbidden"]["summary"])
    (seen,) = instance.fetch_observations(dg.AssetKey(["tables", "sales"]), limit=10).records
    assert seen.asset_observation is not None
    told = {name: value.value for name, value in seen.asset_observation.metadata.items()}
    assert (told["version"], told["dagster/row_count"], told["files"], told["readers"]) == (5, 1800, 6, 1)
    assert "- `by_shop`" in str(told["queries"])
    for check in CHECKS:
        assert {*IDS, "None"} == set(evaluations(result, check)), check  # one per query, and one for the page
        found = evaluations(result, check).values()
        if check == "gain_proven":  # three seconds for a candidate prove nothing: a warning, no regression
            assert all(e.severity == dg.AssetCheckSeverity.WARN for e in found)
        else:
            assert all(e.passed for e in found), check


def test_one_query_alone_is_one_partition(instance: dg.DagsterInstance, file: Path) -> None:
    result = execute(instance, names.OPTIMIZE_JOB, partition_key="cities")
    assert result.success
    assert set(materialized(instance, "policy_decisions")) == {"cities", "None"}
    assert evaluations(result, "not_regressed")["cities"].passed


def test_any_list_of_queries_is_one_run_and_leaves_the_others_alone(
    instance: dg.DagsterInstance, file: Path, one_pass: OnePass
) -> None:
    judged(file, one_pass)
    config = {"ops": {"selected_queries": {"config": {"queries": ["by_shop", "forbidden"]}}}}
    result = execute(instance, names.OPTIMIZE_SELECTED_JOB, run_config=config)
    assert result.success
    for assets in names.ASSETS.values():
        for asset in assets:
            assert set(materialized(instance, asset)) == {"by_shop", "forbidden", "None"}
    assert set(evaluations(result, "results_equal")) == {"by_shop", "forbidden"}
    again = execute(instance, names.OPTIMIZE_SELECTED_JOB, run_config=config)
    assert again.success
    assert {m["changed"] for m in materialized(instance, "plan_artifacts").values() if "changed" in m} == {0}


def test_a_query_the_workload_does_not_have_fails_the_run_with_its_name(
    instance: dg.DagsterInstance, file: Path
) -> None:
    config = {"ops": {"selected_queries": {"config": {"queries": ["by_shap"]}}}}
    result = execute(instance, names.OPTIMIZE_SELECTED_JOB, run_config=config)
    assert not result.success
    assert "no query by_shap" in str(failure(result).description)


def test_promote_launched_alone_without_an_accepted_verdict_refuses(instance: dg.DagsterInstance, file: Path) -> None:
    result = launch_promote(instance, "cities")
    assert not result.success
    assert str(failure(result).description).startswith("PLN-401")
    assert read_standings(load_workload(file))["cities"].active is None
    assert materialized(instance, "active_policies") == {}


def test_promote_launched_alone_with_an_accepted_verdict_promotes(
    instance: dg.DagsterInstance, file: Path, one_pass: OnePass
) -> None:
    workload = judged(file, one_pass)
    assert read_standings(workload)["by_shop"].outcome == "accept"
    result = launch_promote(instance, "by_shop")
    assert result.success
    assert materialized(instance, "active_policies")["by_shop"]["generation"] == 1
    assert evaluations(result, "not_regressed")["by_shop"].passed


def test_a_policy_that_a_later_trial_rejected_is_reverted_and_the_checks_say_so(
    instance: dg.DagsterInstance, file: Path, spark: SparkSession, one_pass: OnePass
) -> None:
    workload = judged(file, one_pass)
    assert launch_promote(instance, "by_shop").success
    verdict = read_standings(workload)["by_shop"].verdicts[0]
    found = replace(verdict.judgement, outcome="reject", results_equal=False, reason="one row differs")
    worse = replace(verdict, id="ver-worse", judgement=found)
    Store(workload.store, workload.name, lambda: spark).append("later", "validate", {VERDICTS: [worse]})
    result = execute(instance, names.OPTIMIZE_JOB, partition_key="by_shop")
    assert result.success
    wrong = evaluations(result, "results_equal")["by_shop"]
    assert (wrong.passed, wrong.severity) == (False, dg.AssetCheckSeverity.WARN)
    why = "a later trial rejected it: one row differs"
    reverted = evaluations(result, "not_regressed")["by_shop"]
    assert reverted.passed
    assert reverted.description == f"the query runs as original since generation 2 (reverted: {why})"
    told = materialized(instance, "active_policies")["by_shop"]
    assert (told["generation"], told["state"], told["reason"]) == (2, "reverted", why)


def test_what_is_in_force_is_measured_again_and_original_is_left_alone(
    instance: dg.DagsterInstance, file: Path, one_pass: OnePass
) -> None:
    workload = judged(file, one_pass)
    assert launch_promote(instance, "by_shop").success
    (before,) = [v for v in read_standings(workload)["by_shop"].verdicts if v.accepted]
    config = names.Names().run_config(["by_shop", "cities"], job=names.REVALIDATE_JOB)
    result = execute(instance, names.REVALIDATE_JOB, run_config=config)
    assert result.success
    standing = read_standings(workload)["by_shop"]
    (again,) = [v for v in standing.past_verdicts if v.stamp.run_id == result.run_id]
    assert again.confirms
    assert (again.policy, again.candidate_id) == (before.policy, before.candidate_id)
    assert again.trial_ids
    assert not set(again.trial_ids) & set(before.trial_ids)
    told = materialized(instance, "verdicts")
    assert told["by_shop"]["trials"] >= len(again.trial_ids)
    assert told["by_shop"]["policy"] == before.policy.describe()
    assert "trials" not in told["cities"]  # nothing is in force
    # What was rejected is taken back in the same run, and only that.
    assert standing.active is not None
    assert (standing.active.state == "reverted") == (again.outcome == "reject")


def judged(file: Path, one_pass: OnePass) -> Workload:
    """The workload of `file` with the tables and the store of a pass that accepted by_shop and promoted nothing."""
    shutil.rmtree(file.parent / "data")
    one_pass.copied(file.parent, after="validate")
    # As it was in that pass: other budgets are other inputs.
    file.write_text(file.read_text().replace(SHORT, "budgets: {explore: 0}"))
    return load_workload(file)


def launch_promote(instance: dg.DagsterInstance, query: str) -> dg.ExecuteInProcessResult:
    """As the UI does when only the asset `active_policies` is selected for one partition."""
    alone = [dg.AssetKey("active_policies")]
    return execute(instance, names.OPTIMIZE_JOB, partition_key=query, asset_selection=alone)


def failure(result: dg.ExecuteInProcessResult) -> dg.Failure:
    data = next(e.step_failure_data for e in result.all_events if e.is_step_failure)
    assert data.user_failure_data is not None
    return dg.Failure(description=data.user_failure_data.description)
