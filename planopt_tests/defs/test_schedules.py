"""The sweep of a night asks for what is due, the best promise first; hours come from the workload file."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from planopt_assets.definitions import defs
from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.readiness import readiness
from planopt_assets.model.workload import Workload
from planopt_assets.workload import load_workload
from planopt_tests.defs.fresh_instance import fresh_instance
from planopt_tests.defs.observed import commit, observe_without_spark
from planopt_tests.no_spark import no_spark

pytestmark = pytest.mark.fast

FILE = """\
version: 1
name: shop
store: store
mode: observe
tables: {sales: data/sales}
queries:
  - {id: first, sql: SELECT shop FROM sales}
  - {id: second, sql: SELECT amount FROM sales}
  - {id: third, sql: SELECT max(shop) AS m FROM sales}
budgets: {per_night: 60}
automation: {time_zone: Europe/Berlin, nightly_hour: 3, weekly_day: friday, weekly_hour: 5}
"""
NIGHT = datetime(2026, 3, 1, 2, tzinfo=UTC)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    commit(tmp_path / "data/sales")
    file = tmp_path / "planopt.yaml"
    file.write_text(FILE)
    monkeypatch.setenv("PLANOPT_WORKLOAD", str(file))
    return file


def asked(night: datetime = NIGHT) -> dg.RunRequest | dg.SkipReason:
    return asked_of(defs().resolve_schedule_def("nightly_sweep"), night)


def asked_of(schedule: dg.ScheduleDefinition, night: datetime = NIGHT) -> dg.RunRequest | dg.SkipReason:
    with (
        fresh_instance() as instance,
        dg.build_schedule_context(instance=instance, scheduled_execution_time=night) as context,
    ):
        data = schedule.evaluate_tick(context)
    return data.run_requests[0] if data.run_requests else dg.SkipReason(data.skip_message)


def test_hours_day_and_time_zone_are_those_of_the_workload_file(file: Path) -> None:
    found = {s: defs().resolve_schedule_def(s) for s in ("nightly_sweep", "weekly_upkeep")}
    times = {name: (s.cron_schedule, s.execution_timezone, s.job_name) for name, s in found.items()}
    assert times == {
        "nightly_sweep": ("0 3 * * *", "Europe/Berlin", "optimize_selected"),
        "weekly_upkeep": ("0 5 * * 5", "Europe/Berlin", "upkeep"),
    }


def test_schedules_and_sensors_are_off_until_somebody_switches_them_on(file: Path) -> None:
    sensors = ("workload_changes", "table_changes", "production_runs", "regressions")
    states = [defs().resolve_sensor_def(s).default_status for s in sensors]
    states += [defs().resolve_schedule_def(s).default_status for s in ("nightly_sweep", "weekly_upkeep")]
    assert {state.value for state in states} == {"STOPPED"}


def test_the_sweep_takes_what_was_never_seen_first_then_what_was_seen_longest_ago(file: Path) -> None:
    workload = load_workload(file)
    observe_without_spark(workload, ["second"], "run-0")
    observe_without_spark(workload, ["first"], "run-1")
    commit(file.parent / "data/sales")
    request = asked()
    assert isinstance(request, dg.RunRequest)
    assert request.run_key == "sweep-2026-03-01"
    assert request.run_config == {
        "ops": {
            "selected_queries": {
                "config": {"queries": ["third", "second", "first"], "by_person": False, "budget_s": 60.0}
            }
        }
    }


def look_at_tables(workload: Workload) -> None:
    readiness(Run(Workspace(workload, no_spark), "run-tables"), [t.name for t in workload.tables])


def test_a_table_that_no_query_reads_is_looked_at_too(file: Path) -> None:
    commit(file.parent / "data/stock")
    file.write_text(FILE.replace("tables: {", "tables: {stock: data/stock, "))
    workload = load_workload(file)
    observe_without_spark(workload, ["first", "second", "third"], "run-0")
    look_at_tables(workload)
    assert isinstance(asked(), dg.SkipReason)
    commit(file.parent / "data/stock")
    request = asked()
    assert isinstance(request, dg.RunRequest)
    (op,) = request.run_config["ops"].values()
    assert op["config"]["queries"] == ["first", "second", "third"]


def test_a_night_with_nothing_to_do_starts_nothing_and_is_still_seen(file: Path) -> None:
    workload = load_workload(file)
    observe_without_spark(workload, ["first", "second", "third"], "run-0")
    look_at_tables(workload)
    schedule = defs().resolve_schedule_def("nightly_sweep")
    with (
        fresh_instance() as instance,
        dg.build_schedule_context(instance=instance, scheduled_execution_time=NIGHT) as context,
    ):
        data = schedule.evaluate_tick(context)
        (seen,) = instance.fetch_materializations(dg.AssetKey("active_policies"), limit=5).records
    assert not data.run_requests
    assert data.skip_message == "nothing is due: queries, tables and settings are unchanged"
    assert seen.asset_materialization is not None  # the freshness of the asset counts from it
    assert str(seen.asset_materialization.metadata["overview"].value).startswith("3 queries, 0 in this run: ")


def test_a_workload_file_that_is_wrong_is_said(file: Path) -> None:
    schedule = defs().resolve_schedule_def("nightly_sweep")
    file.write_text(FILE.replace("queries:", "querys:"))
    assert "PLN-007" in str(asked_of(schedule))


def test_upkeep_makes_few_files_of_many_and_needs_no_spark(file: Path) -> None:
    workload = load_workload(file)
    for run in range(9):
        observe_without_spark(workload, ["first"], f"run-{run}")
    table = file.parent / "store/plan_artifacts"
    assert len(list(table.glob("*.parquet"))) == 9
    result = defs().resolve_job_def("upkeep").execute_in_process()
    (output,) = [e.step_output_data for e in result.all_node_events if e.is_successful_output]
    assert (output.metadata["files_before"].value, output.metadata["files_after"].value) == (9, 1)
