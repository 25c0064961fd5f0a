"""Queries of the workload file become partitions; new and changed ones start one run, another spelling none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from planopt_assets.defs import current_workload
from planopt_assets.model.workload import Workload
from planopt_assets.workload import load_workload
from planopt_tests.defs.observed import commit, observe_without_spark
from planopt_tests.defs.sensor_ticks import Ticks, ticks

pytestmark = pytest.mark.fast

FILE = """\
version: 1
name: shop
store: store
tables: {sales: data/sales}
queries:
  - {id: by_shop, sql: SELECT shop FROM sales}
  - {id: from_file, sql_file: q.sql}
automation: {settle: 60}
"""
MORE = FILE.replace("automation", "  - {id: amounts, sql: SELECT amount FROM sales}\nautomation")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    commit(tmp_path / "data/sales")
    (tmp_path / "q.sql").write_text("SELECT max(shop) AS most FROM sales")
    (tmp_path / "planopt.yaml").write_text(FILE)
    return tmp_path / "planopt.yaml"


@pytest.fixture
def sensor(file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ticks]:
    """Both queries were observed, and are partitions."""
    observe_without_spark(load_workload(file), ["by_shop", "from_file"], "run-0")
    with ticks(file, "workload_changes", monkeypatch) as made:
        made.instance.add_dynamic_partitions("planopt_queries", ["by_shop", "from_file"])
        made.tick()
        assert made.said(after=60) == "changed: workload; no query needs a run"
        yield made


def partitions(result: dg.SensorResult) -> list[tuple[str, list[str]]]:
    requests = result.dynamic_partitions_requests or []
    return [(type(r).__name__.removesuffix("DynamicPartitionsRequest"), list(r.partition_keys)) for r in requests]


def test_an_unchanged_file_asks_for_nothing(sensor: Ticks) -> None:
    assert [sensor.said() for _ in range(3)] == ["nothing changed"] * 3
    assert partitions(sensor.tick()) == []


def test_a_new_query_is_a_partition_at_once_and_a_run_once_the_file_has_settled(sensor: Ticks, file: Path) -> None:
    file.write_text(MORE)
    assert partitions(sensor.tick()) == [("Add", ["amounts"])]
    sensor.instance.add_dynamic_partitions("planopt_queries", ["amounts"])
    assert sensor.requested(after=60) == ["amounts"]


def test_a_query_that_is_gone_is_no_partition_any_more(sensor: Ticks, file: Path) -> None:
    file.write_text(FILE.replace("  - {id: from_file, sql_file: q.sql}\n", ""))
    assert partitions(sensor.tick()) == [("Delete", ["from_file"])]
    assert sensor.said(after=60) == "changed: workload; no query needs a run"


def test_a_changed_text_starts_a_run_also_where_it_stands_in_a_file_of_its_own(sensor: Ticks, file: Path) -> None:
    (file.parent / "q.sql").write_text("SELECT min(shop) AS least FROM sales")
    sensor.tick()
    assert sensor.requested(after=60) == ["from_file"]


def test_another_spelling_starts_nothing(sensor: Ticks, file: Path) -> None:
    (file.parent / "q.sql").write_text("select\n  MAX(shop) as most -- the largest\nfrom sales\n")
    sensor.tick()
    assert sensor.said(after=60) == "changed: workload; no query needs a run"


def test_a_file_edited_twice_before_it_settles_starts_one_run(sensor: Ticks, file: Path) -> None:
    file.write_text(MORE)
    assert sensor.requested() is None
    file.write_text(MORE.replace("SELECT amount FROM", "SELECT sum(amount) AS s FROM"))
    assert sensor.requested(after=59) is None
    assert sensor.requested(after=60) == ["amounts"]
    sensor.ran(dg.DagsterRunStatus.SUCCESS)
    observe_without_spark(load_workload(file), ["amounts"], "run-1")
    assert sensor.requested(after=600) is None


def test_edited_and_edited_back_after_a_run_there_is_nothing_to_do(sensor: Ticks, file: Path) -> None:
    sql, before = file.parent / "q.sql", (file.parent / "q.sql").read_text()
    sql.write_text("SELECT min(shop) AS least FROM sales")
    sensor.tick()
    assert sensor.requested(after=60) == ["from_file"]
    observe_without_spark(load_workload(file), ["from_file"], "run-1")
    sensor.ran(dg.DagsterRunStatus.SUCCESS)
    sql.write_text(before)
    sensor.tick()
    assert sensor.said(after=60) == "changed: workload; no query needs a run"


def test_other_settings_start_a_run_for_all(sensor: Ticks, file: Path) -> None:
    file.write_text(FILE + "spark: {settings: {spark.sql.ansi.enabled: false}}\n")
    sensor.tick()
    assert sensor.requested(after=60) == ["by_shop", "from_file"]


def test_a_table_that_moved_is_left_to_the_other_sensor(sensor: Ticks, file: Path) -> None:
    commit(file.parent / "data/sales")
    file.write_text(MORE)
    sensor.tick()
    assert sensor.requested(after=60) == ["amounts"]


def test_a_file_that_is_half_written_is_said_and_loses_nothing(sensor: Ticks, file: Path) -> None:
    file.write_text(MORE[:-30] + "{")
    assert "PLN-0" in sensor.said()
    file.write_text(MORE)
    sensor.tick()
    assert sensor.requested(after=60) == ["amounts"]


def test_a_store_that_cannot_be_read_is_said_and_partitions_are_aligned_all_the_same(sensor: Ticks, file: Path) -> None:
    log = next((file.parent / "store/plan_artifacts/_delta_log").glob("*.json"))
    whole = log.read_text()
    file.write_text(MORE)
    sensor.tick()
    log.write_text("{")
    result = sensor.tick(after=60)
    assert "PLN-" in str(result.skip_reason)
    assert partitions(result) == [("Add", ["amounts"])]
    log.write_text(whole)
    assert sensor.requested() == ["amounts"]


def test_a_file_that_is_edited_while_it_is_read_is_read_again(
    sensor: Ticks, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(path: Path) -> Workload:
        workload = load_workload(path)
        (file.parent / "q.sql").write_text("SELECT min(shop) AS least FROM sales")
        return workload

    (file.parent / "q.sql").write_text("select MAX(shop) as most from sales")
    with monkeypatch.context() as patch:
        patch.setattr(current_workload, "load_workload", slowly)
        sensor.tick()
    sensor.tick()
    assert sensor.requested(after=60) == ["from_file"]
    observe_without_spark(load_workload(file), ["from_file"], "run-1")
    sensor.ran(dg.DagsterRunStatus.SUCCESS)
    assert sensor.requested(after=600) is None
