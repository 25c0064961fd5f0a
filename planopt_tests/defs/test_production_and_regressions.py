"""A policy that a later run found worse: one sensor asks for its revert, the other tells a webhook, each once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from planopt_assets.loop.run import read_standings
from planopt_assets.model.workload import Workload
from planopt_assets.promote.transitions import next_generation
from planopt_assets.store.store import Store
from planopt_assets.workload import load_workload
from planopt_tests.alert.servers import Hook
from planopt_tests.conftest import MASTER, SETTINGS
from planopt_tests.defs.sensor_ticks import Ticks, ticks
from planopt_tests.no_spark import no_spark
from planopt_tests.rows import FEWER, criteria
from planopt_tests.store.whole_store import IN_FORCE, Written, write_whole_store

pytestmark = pytest.mark.fast


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder with a whole store, and a copy of it. Stored rows name their tables by path, so the folder stays."""
    folder, copy = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("copy") / "whole"
    write_whole_store(folder)
    return folder, shutil.copytree(folder, copy)


@pytest.fixture
def file(written: tuple[Path, Path], hook: Hook) -> Path:
    """The workload of `whole_store` as a file, with one webhook; as it was written, whatever the test before did."""
    folder, copy = written
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)
    settings = "".join(f"    {name}: {value}\n" for name, value in SETTINGS.items())
    queries = "".join(f"  - {{id: {q}, sql: 'SELECT shop, {n} AS n FROM sales'}}\n" for n, q in enumerate(IN_FORCE))
    file = folder / "planopt.yaml"
    file.write_text(
        f"version: 1\nname: tests\nstore: store\nmode: auto\nspark:\n  master: {MASTER}\n  settings:\n{settings}"
        f"tables: {{sales: data/sales}}\nqueries:\n{queries}alerts: [{{kind: webhook, url: '{hook.url}'}}]\n"
    )
    return file


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook().serving() as serving:
        yield serving


def found_worse(workload: Workload, run: str = "run-9") -> None:
    """A later trial of the policy in force, on the same inputs, that rejects it."""
    written = Written(workload)
    written.query_id, written.minutes = "proven", 100 + int(run[-1])
    standing = read_standings(workload)["proven"]
    worse = criteria(results_equal=True, objective__cpu=False)
    written.judge(standing, FEWER, "reject", run, criteria=worse, gain_low=1.3, gain_ratio=1.5, gain_high=1.7)
    assert read_standings(workload)["proven"].due is not None


def take_back(workload: Workload) -> None:
    """What the run that the sensor asks for does."""
    standing = read_standings(workload)["proven"]
    assert standing.due is not None
    store = Store(workload.store, workload.name, no_spark)
    store.commit(next_generation(workload.name, "proven", standing.chain, standing.due), "run-back")


def test_what_is_due_is_asked_for_once_and_only_while_it_is_due(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workload = load_workload(file)
    with ticks(file, "production_runs", monkeypatch) as sensor:
        assert sensor.said() == "4 queries with new rows, nothing to take back"
        assert sensor.said() == "no new rows"
        found_worse(workload)
        assert sensor.requested() == ["proven"]
        assert sensor.last is not None
        assert sensor.last.job_name == "take_back"
        first = sensor.last.run_key
        assert sensor.requested() == ["proven"]
        assert sensor.last.run_key == first  # which Dagster starts once
        take_back(workload)
        sensor.ran(dg.DagsterRunStatus.SUCCESS)
        assert sensor.said() == "1 queries with new rows, nothing to take back"
        assert sensor.said() == "no new rows"


def test_a_take_back_that_fails_is_tried_three_times_in_all(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ticks(file, "production_runs", monkeypatch) as sensor:
        found_worse(load_workload(file))
        for _ in range(3):
            assert sensor.requested() == ["proven"]
            sensor.ran(dg.DagsterRunStatus.FAILURE)
        assert "left for the nightly sweep" in sensor.said()
        assert sensor.said() == "no new rows"


def test_a_take_back_that_succeeded_and_left_it_due_is_not_waited_for(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dagster starts a run key once, ever: asked for again, nothing would start, and no later row would be seen."""
    with ticks(file, "production_runs", monkeypatch) as sensor:
        found_worse(load_workload(file))
        assert sensor.requested() == ["proven"]
        sensor.ran(dg.DagsterRunStatus.SUCCESS)
        assert "a run looked at exactly these queries and inputs, and left 1 so" in sensor.said()
        assert sensor.said() == "no new rows"


def test_another_store_is_read_from_its_start(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ticks(file, "production_runs", monkeypatch) as sensor:
        sensor.tick()
        shutil.copytree(file.parent / "store", file.parent / "moved")
        file.write_text(file.read_text().replace("store: store", "store: moved"))
        assert sensor.said() == "4 queries with new rows, nothing to take back"


def events(hook: Hook) -> list[str]:
    return [f"{body['event']} {body['incident']}" for body in hook.bodies]


def told(sensor: Ticks, hook: Hook, after: float = 30.0) -> list[str]:
    """What the webhook hears in the next tick."""
    hook.bodies.clear()
    sensor.tick(after)
    return events(hook)


def test_a_regression_is_told_once_and_its_end_once(file: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    workload = load_workload(file)
    with ticks(file, "regressions", monkeypatch) as sensor:
        told(sensor, hook)
        found_worse(workload)
        assert told(sensor, hook) == ["opened regression/proven/g1"]
        take_back(workload)
        assert told(sensor, hook) == ["over regression/proven/g1"]
        assert "was taken back. In force now: generation 2" in hook.bodies[0]["text"]
        assert [told(sensor, hook) for _ in range(2)] == [[], []]
        sensor.cursor = None  # lost; what was told is kept elsewhere
        assert told(sensor, hook) == []
        store = Store(workload.store, workload.name, no_spark)
        chain = read_standings(workload)["proven"].chain
        from planopt_assets.promote.transitions import Fix

        store.commit(next_generation("tests", "proven", chain, Fix(FEWER, "I know it", "ada")), "run-pin")
        assert [told(sensor, hook) for _ in range(2)] == [[], []]


def test_a_regression_that_was_taken_back_before_anybody_looked_is_told_with_its_end(
    file: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload = load_workload(file)
    found_worse(workload)
    take_back(workload)
    with ticks(file, "regressions", monkeypatch) as sensor:
        heard = [told(sensor, hook) for _ in range(4)]
    assert heard == [["opened regression/proven/g1"], ["over regression/proven/g1"], [], []]


def test_a_webhook_that_is_down_is_said_in_the_tick_and_told_later(
    file: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ticks(file, "regressions", monkeypatch) as sensor:
        told(sensor, hook)
        found_worse(load_workload(file))
        hook.statuses[:] = [404]
        said = sensor.said()
        assert "not taken: PLN-507 alerts: webhook (webhook)" in said
        assert hook.url not in said
        assert told(sensor, hook, after=30) == []
        assert told(sensor, hook, after=30) == ["opened regression/proven/g1"]
        assert told(sensor, hook) == []


def test_a_restart_tells_nothing_twice(file: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    with ticks(file, "regressions", monkeypatch) as sensor:
        told(sensor, hook)
        before = sensor.cursor
        found_worse(load_workload(file))
        assert told(sensor, hook) == ["opened regression/proven/g1"]
        sensor.cursor = before  # the daemon was killed before it kept the cursor
        assert told(sensor, hook) == []


def test_a_table_that_stays_unreadable_is_told_once_and_when_it_is_back(
    file: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = file.parent / "data/sales/_delta_log"
    with ticks(file, "regressions", monkeypatch) as sensor:
        told(sensor, hook)
        log.rename(log.with_name("away"))
        assert told(sensor, hook) == []  # it may be back in a moment
        assert told(sensor, hook, after=899) == []
        assert told(sensor, hook, after=1) == ["opened table/sales"]
        (body,) = hook.bodies
        assert (body["table"], body["query"], body["title"]) == ("sales", "", "sales: the table cannot be read")
        sensor.cursor = None  # and with it since when: it was told, so it stays told
        assert [told(sensor, hook) for _ in range(2)] == [[], []]
        log.with_name("away").rename(log)
        assert told(sensor, hook) == ["over table/sales"]
        assert told(sensor, hook) == []


def test_a_table_that_is_back_in_time_is_no_incident(file: Path, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    log = file.parent / "data/sales/_delta_log"
    with ticks(file, "regressions", monkeypatch) as sensor:
        told(sensor, hook)
        for _ in range(3):
            log.rename(log.with_name("away"))
            assert told(sensor, hook, after=600) == []
            log.with_name("away").rename(log)
            assert told(sensor, hook, after=600) == []


def test_without_destinations_it_says_so(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text(file.read_text().partition("alerts:")[0])
    with ticks(file, "regressions", monkeypatch) as sensor:
        assert "has no `alerts:`" in sensor.said()
