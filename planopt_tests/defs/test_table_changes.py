"""A new version of a table starts one run, for exactly the queries that read it, and an unchanged table none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from planopt_assets.defs.dead_runs import PROCESS_TAG, this_process
from planopt_assets.workload import load_workload
from planopt_tests.defs.observed import commit, observe_without_spark
from planopt_tests.defs.sensor_ticks import Ticks, ticks

pytestmark = pytest.mark.fast

FILE = """\
version: 1
name: shop
store: store
tables: {sales: data/sales, stock: data/stock}
queries:
  - {id: by_shop, sql: SELECT shop FROM sales}
  - {id: stocked, sql: SELECT amount FROM stock}
  - {id: both, sql: SELECT s.shop FROM sales s JOIN stock t ON s.shop = t.shop}
automation: {settle: 60, interval: 900}
"""
DONE, LOST, AT_WORK = dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.STARTED


@pytest.fixture
def file(tmp_path: Path) -> Path:
    for table in ("sales", "stock"):
        commit(tmp_path / "data" / table)
    (tmp_path / "planopt.yaml").write_text(FILE)
    return tmp_path / "planopt.yaml"


@pytest.fixture
def sensor(file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ticks]:
    """Every query was observed, and the sensor has seen it."""
    observe(file, "by_shop", "stocked", "both", run="run-0")
    with ticks(file, "table_changes", monkeypatch) as made:
        assert made.requested() is None
        assert made.said(after=60) == "changed: sales, stock, observations; no query needs a run"
        yield made


def observe(file: Path, *queries: str, run: str) -> None:
    observe_without_spark(load_workload(file), list(queries), run)


def test_an_unchanged_table_starts_nothing(sensor: Ticks) -> None:
    assert [sensor.said() for _ in range(5)] == ["nothing changed"] * 5


def test_a_commit_starts_one_run_for_exactly_the_queries_that_read_the_table(sensor: Ticks, file: Path) -> None:
    commit(file.parent / "data/sales")
    assert sensor.said() == "sales changed and has not settled"
    assert sensor.requested(after=59) is None
    assert sensor.requested(after=1) == ["by_shop", "both"]
    sensor.ran(AT_WORK)
    assert sensor.said().endswith("is still at work")
    observe(file, "by_shop", "both", run="run-1")


def test_after_the_run_nothing_is_left(sensor: Ticks, file: Path) -> None:
    commit(file.parent / "data/stock")
    sensor.tick()
    assert sensor.requested(after=60) == ["stocked", "both"]
    observe(file, "stocked", "both", run="run-1")
    sensor.ran(DONE)
    sensor.tick()
    assert sensor.said(after=900) == "changed: observations; no query needs a run"
    assert [sensor.said(after=900) for _ in range(3)] == ["nothing changed"] * 3


def test_two_ticks_that_see_the_same_ask_for_the_same_run(sensor: Ticks, file: Path) -> None:
    commit(file.parent / "data/sales")
    sensor.tick()
    before = sensor.cursor
    sensor.requested(after=60)
    first = sensor.last
    sensor.cursor = before  # the daemon was killed before it kept the cursor
    sensor.requested(after=30)
    assert first is not None
    assert sensor.last is not None
    assert first.run_key == sensor.last.run_key


def test_a_lost_cursor_loses_no_change_and_makes_none_up(sensor: Ticks, file: Path) -> None:
    sensor.cursor = None
    sensor.tick()
    assert sensor.said(after=60) == "changed: sales, stock, observations; no query needs a run"
    commit(file.parent / "data/sales")
    sensor.cursor = "not JSON"
    sensor.tick()
    assert sensor.requested(after=60) == ["by_shop", "both"]


def test_a_run_that_failed_is_asked_for_again_three_times_in_all(sensor: Ticks, file: Path) -> None:
    commit(file.parent / "data/sales")
    sensor.tick()
    keys = []
    for wait in (60, 900, 900):
        assert sensor.requested(after=wait) == ["by_shop", "both"]
        assert sensor.last is not None
        keys.append(sensor.last.run_key)
        sensor.ran(LOST)
        assert sensor.requested(after=30) is None  # not at once
    assert len(set(keys)) == 3
    assert "left for the nightly sweep" in sensor.said(after=900)
    assert sensor.said(after=900) == "nothing changed"


def test_a_run_whose_process_is_gone_is_not_waited_for(sensor: Ticks, file: Path) -> None:
    """The machine was restarted: Dagster's daemon knows nothing of the process, and the run counts as started."""
    commit(file.parent / "data/sales")
    sensor.tick()
    assert sensor.requested(after=60) == ["by_shop", "both"]
    sensor.ran(AT_WORK)
    assert sensor.said().endswith("is still at work")
    (run,) = sensor.instance.get_runs()
    host, number, born = this_process().split("|")
    sensor.instance.add_run_tags(run.run_id, {PROCESS_TAG: f"{host}|{number}|{int(born) - 60}"})
    assert sensor.requested(after=900) == ["by_shop", "both"]
    (ended,) = sensor.instance.get_runs()
    assert ended.status == dg.DagsterRunStatus.FAILURE


def test_a_query_that_fails_every_time_does_not_keep_the_sensor_busy(sensor: Ticks, file: Path) -> None:
    commit(file.parent / "data/sales")
    sensor.tick()
    assert sensor.requested(after=60) == ["by_shop", "both"]
    observe(file, "by_shop", run="run-1")  # the run succeeded, and `both` is still due
    sensor.ran(DONE)
    sensor.tick()
    assert sensor.requested(after=900) == ["both"]  # once more by itself
    sensor.ran(DONE)
    assert [sensor.requested(after=900) for _ in range(3)] == [None] * 3
    observe(file, "by_shop", run="run-2")  # something else is stored
    sensor.tick()
    assert "a run looked at exactly these queries and inputs, and left 1 so" in sensor.said(after=900)


def test_a_run_that_began_before_a_commit_and_ends_after_it_loses_nothing(sensor: Ticks, file: Path) -> None:
    aside = file.parent / "aside"
    shutil.copytree(file.parent / "data/sales", aside)
    commit(file.parent / "data/sales")
    sensor.tick()
    assert sensor.requested(after=60) == ["by_shop", "both"]
    observe(file, "by_shop", "both", run="run-1")
    sensor.ran(DONE)
    sensor.tick()
    assert sensor.requested(after=900) is None
    shutil.move(file.parent / "data/sales", file.parent / "newer")
    shutil.move(aside, file.parent / "data/sales")
    file.write_text(FILE.replace("SELECT shop FROM sales}", "SELECT max(shop) AS m FROM sales}"))
    observe(file, "by_shop", run="run-2")  # another text, on the table as it was before
    shutil.rmtree(file.parent / "data/sales")
    shutil.move(file.parent / "newer", file.parent / "data/sales")
    sensor.tick()
    assert sensor.requested(after=900) == ["by_shop"]


def test_a_table_that_is_missing_is_named_and_starts_nothing_until_it_is_back(sensor: Ticks, file: Path) -> None:
    stock = file.parent / "data/stock"
    stock.rename(file.parent / "aside")
    assert "stock cannot be read: PLN-206" in sensor.said()
    commit(file.parent / "data/sales")
    sensor.tick()
    assert sensor.requested(after=60) == ["by_shop", "both"]  # the other table goes on
    observe(file, "by_shop", run="run-1")
    sensor.ran(DONE)
    (file.parent / "aside").rename(stock)
    observe(file, "both", run="run-2")
    assert [sensor.requested(after=900) for _ in range(3)] == [None] * 3


def test_another_table_in_its_place_is_a_change_although_its_version_is_the_same(sensor: Ticks, file: Path) -> None:
    shutil.rmtree(file.parent / "data/stock")
    commit(file.parent / "data/stock")
    sensor.tick()
    assert sensor.requested(after=60) == ["stocked", "both"]


def test_a_log_whose_old_commits_are_gone_is_read_from_its_checkpoint(sensor: Ticks, file: Path) -> None:
    from deltalake import DeltaTable

    sales = file.parent / "data/sales"
    commit(sales)
    DeltaTable(sales).create_checkpoint()
    for version in (0, 1):
        (sales / "_delta_log" / f"{version:020d}.json").unlink()
    sensor.tick()
    assert sensor.requested(after=60) == ["by_shop", "both"]


def test_a_query_whose_text_changed_is_left_to_the_other_sensor(sensor: Ticks, file: Path) -> None:
    file.write_text(FILE.replace("SELECT shop FROM sales}", "SELECT amount FROM sales}"))
    commit(file.parent / "data/sales")
    sensor.tick()
    assert sensor.requested(after=60) == ["both"]


def test_every_new_version_is_reported_as_an_observation_of_the_table_once(sensor: Ticks, file: Path) -> None:
    assert not sensor.tick().asset_events
    commit(file.parent / "data/sales")
    (event,) = sensor.tick().asset_events
    assert isinstance(event, dg.AssetObservation)
    assert event.asset_key == dg.AssetKey(["tables", "sales"])
    assert event.metadata["version"].value == 1
    assert event.tags["dagster/data_version"].endswith("@1")
    assert not sensor.tick().asset_events


def test_a_workload_file_that_is_wrong_is_said_and_the_cursor_is_kept(sensor: Ticks, file: Path) -> None:
    before = sensor.cursor
    file.write_text(FILE.replace("queries:", "querys:"))
    context = dg.build_sensor_context(instance=sensor.instance, cursor=sensor.cursor, sensor_name="table_changes")
    result = sensor.sensor(context)
    assert isinstance(result, dg.SensorResult)
    assert "PLN-007" in str(result.skip_reason)
    assert result.cursor == before
