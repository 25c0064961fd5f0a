"""An instance on PostgreSQL: partitions, runs, cursors and records of alerts are kept there like on SQLite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from planopt_assets.alert.announce import Announcer
from planopt_assets.definitions import defs
from planopt_assets.defs.instance import register_queries
from planopt_assets.defs.run_requests import CHANGE_TAG, failures, states
from planopt_assets.model.alerts import Delivery, Destination, Incident
from planopt_assets.workload import load_workload
from planopt_tests.defs.observed import commit, observe_without_spark
from planopt_tests.defs.postgres_server import postgres_server
from planopt_tests.fresh_python import ROOT

pytestmark = pytest.mark.fast

FILE = """\
version: 1
name: shop
store: store
tables: {sales: data/sales}
queries:
  - {id: by_shop, sql: SELECT shop FROM sales}
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    pytest.importorskip("dagster_postgres", reason="the extra `postgres` is not installed")
    with postgres_server() as found:
        yield found


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    commit(tmp_path / "data/sales")
    (tmp_path / "planopt.yaml").write_text(FILE)
    monkeypatch.setenv("PLANOPT_WORKLOAD", str(tmp_path / "planopt.yaml"))
    return tmp_path / "planopt.yaml"


def test_the_whole_instance_lives_in_postgresql(
    url: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANOPT_TEST_POSTGRES", url)
    home = tmp_path / "home"
    home.mkdir()
    storage = "storage:\n  postgres:\n    postgres_url:\n      env: PLANOPT_TEST_POSTGRES\n"
    (home / "dagster.yaml").write_text((ROOT / "dagster.yaml").read_text() + storage)
    made, workload = defs(), load_workload(file)
    for run in range(9):
        observe_without_spark(workload, ["by_shop"], f"run-{run}")
    with dg.DagsterInstance.from_config(str(home)) as instance:
        register_queries(instance, workload)
        tags = {CHANGE_TAG: "chg_1", "dagster/sensor_name": "table_changes"}
        assert made.resolve_job_def("upkeep").execute_in_process(instance=instance, tags=tags).success
        with dg.build_sensor_context(instance=instance, sensor_name="table_changes") as context:
            result = made.resolve_sensor_def("table_changes")(context)
        assert isinstance(result, dg.SensorResult)
        for event in result.asset_events:
            instance.report_runless_asset_event(event)
        worse = Incident("gate/x/by_shop", "gate", "by_shop", "title", "text")
        said = _announcer(instance).announce(
            [worse], ["by_shop"], clock=lambda: 0.0, until=1.0, transmit=lambda to, message: Delivery(to.name, 1)
        )
        assert said.sent == 1
    with dg.DagsterInstance.from_config(str(home)) as again:
        assert "postgres" in type(again.run_storage).__module__ or "postgres" in str(again.storage_directory)
        assert again.get_dynamic_partitions("planopt_queries") == ["by_shop"]
        assert states(again, ["chg_1"]) == {"chg_1": "succeeded"}
        assert failures(again, "chg_1") == 0
        assert again.get_latest_data_version_record(dg.AssetKey(["tables", "sales"])) is not None
        assert _announcer(again).open_subjects() == {"by_shop"}
    assert not list(home.glob("**/*.db"))


def _announcer(instance: dg.DagsterInstance) -> Announcer:
    return Announcer("shop", [Destination("log", "log")], instance.daemon_cursor_storage)
