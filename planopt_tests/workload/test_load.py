"""What a right file becomes."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from planopt_assets.model.alerts import Destination
from planopt_assets.model.automation import Automation, TrialWindow
from planopt_assets.model.workload import Budgets, Knobs, Maintenance, Query, Table, Workload
from planopt_assets.workload import load_workload
from planopt_tests.workload.conftest import RIGHT

pytestmark = pytest.mark.fast

FULL = """\
version: 1
name: tpch_demo
store: state/store
roots: [../shared_tables, "s3://lake/sales"]
spark:
  master: local[2]
  settings: {spark.sql.session.timeZone: UTC, spark.a.int: 200, spark.a.float: 0.5, spark.a.bool: true}
tables:
  lineitem: {path: data/lineitem, maintain: auto, features: [clustering], index: allow, owners: [a@b.de]}
  orders: {path: ../shared_tables/orders, maintain: by_hand}
  eu: s3://lake/sales/eu/
  customers: {catalog: main.`my sales`.customers}
queries:
  - {id: inline, sql: SELECT 1, runs_per_day: 24, max_loss: 0.05, owners: ["team:shop"]}
  - id: from_file
    sql_file: queries/by_segment.sql
    parameters:
      - {since: 1995-01-01, segment: BUILDING, n: 3, x: 0.5, on: true, none: null, at: 2001-12-14 21:59:43 +02:00}
      - {segment: MACHINERY, since: "1996-01-01", n: 4, x: 1.5, on: false, none: ~, at: 2001-12-14T21:59:43Z}
  - {id: cohort, python: "queries.cohort:build"}
objective: bytes
mode: auto
budgets: {per_candidate: 1, per_query: 2.5, per_night: 60, explore: 0.25}
knobs:
  allow: [spark.sql.b, spark.sql.a]
  deny: [spark.sql.c, parquet.filter.bloom.enabled]
  pin: {spark.sql.z: 1, spark.sql.y: false}
maintenance: {trial_bytes: 1000, pay_back_days: 7}
capture: debug
control_share: 0.5
allow_python: true
seed: 7
automation:
  {settle: 0, interval: 60, time_zone: Europe/Berlin, nightly_hour: 3, weekly_day: friday, weekly_hour: 0, every: 5}
alerts:
  - {kind: log}
  - {kind: file, path: alerts.jsonl}
  - {kind: webhook, name: on_call, url: "http://127.0.0.1:8080/hook"}
  - {kind: slack, url_env: SLACK_URL}
  - {kind: smtp, host: mail, port: 25, security: none, sender: a@b.c, to: [d@e.f], user: m, password_env: MAIL_PASSWORD}
owners: ["team:data", x@y.org]
docs_url: https://docs.example.com/planopt
trial_window: {start: 22, end: 6}
"""


def test_every_field_of_the_file_reaches_the_workload(folder: Path) -> None:
    (folder / "queries").mkdir()
    (folder / "queries/by_segment.sql").write_bytes("\ufeffSELECT 'é'\r\n".encode())
    (folder / "planopt.yaml").write_text(FULL, encoding="utf-8")
    first = (("at", "2001-12-14T21:59:43+02:00"), ("n", 3), ("none", None), ("on", True), ("segment", "BUILDING"))
    second = (("at", "2001-12-14T21:59:43+00:00"), ("n", 4), ("none", None), ("on", False), ("segment", "MACHINERY"))
    assert load_workload("planopt.yaml") == Workload(
        name="tpch_demo",
        file=folder / "planopt.yaml",
        store=str(folder / "state/store"),
        tables=(
            Table("lineitem", str(folder / "data/lineitem"), None, "auto", ("clustering",), True, ("a@b.de",)),
            Table("orders", path=str(folder.parent / "shared_tables/orders"), maintain="by_hand"),
            Table("eu", path="s3://lake/sales/eu"),
            Table("customers", catalog="main.`my sales`.customers"),
        ),
        queries=(
            Query("inline", sql="SELECT 1", runs_per_day=24.0, max_loss=0.05, owners=("team:shop",)),
            Query(
                "from_file",
                sql="SELECT 'é'\r\n",
                bindings=(
                    (*first, ("since", "1995-01-01"), ("x", 0.5)),
                    (*second, ("since", "1996-01-01"), ("x", 1.5)),
                ),
            ),
            Query("cohort", python="queries.cohort:build"),
        ),
        master="local[2]",
        spark_settings=(
            ("spark.a.bool", "true"),
            ("spark.a.float", "0.5"),
            ("spark.a.int", "200"),
            ("spark.sql.session.timeZone", "UTC"),
        ),
        objective="bytes",
        mode="auto",
        budgets=Budgets(1.0, 2.5, 1800.0, 60.0, 0.25),
        knobs=Knobs(
            allow=("spark.sql.b", "spark.sql.a"),
            deny=("spark.sql.c", "parquet.filter.bloom.enabled"),
            pin=(("spark.sql.y", "false"), ("spark.sql.z", "1")),
        ),
        maintenance=Maintenance(1000, 7),
        capture="debug",
        control_share=0.5,
        allow_python=True,
        seed=7,
        automation=Automation(0.0, 60.0, "Europe/Berlin", 3, "friday", 0, 5),
        alerts=(
            Destination("log", "log"),
            Destination("file", "file", path=str(folder / "alerts.jsonl")),
            Destination("on_call", "webhook", url="http://127.0.0.1:8080/hook"),
            Destination("slack", "slack", url_env="SLACK_URL"),
            Destination(
                name="smtp",
                kind="smtp",
                host="mail",
                port=25,
                security="none",
                sender="a@b.c",
                to=("d@e.f",),
                user="m",
                password_env="MAIL_PASSWORD",
            ),
        ),
        owners=("team:data", "x@y.org"),
        docs_url="https://docs.example.com/planopt",
        trial_window=TrialWindow(22, 6),
    )


def test_pool_and_queue_are_settings_of_the_session(folder: Path) -> None:
    (folder / "planopt.yaml").write_text(f"{RIGHT}spark: {{master: yarn, pool: night, queue: low.prio}}\n")
    assert dict(load_workload("planopt.yaml").spark_settings) == {
        "spark.scheduler.mode": "FAIR",
        "spark.scheduler.pool": "night",
        "spark.yarn.queue": "low.prio",
    }


def test_budgets_may_count_executors(folder: Path) -> None:
    limits = "{executor_seconds_per_query: 60, executor_seconds_per_run: 900.5}"
    (folder / "planopt.yaml").write_text(f"{RIGHT}budgets: {limits}\n")
    expected = Budgets(executor_seconds_per_query=60.0, executor_seconds_per_run=900.5)
    assert load_workload("planopt.yaml").budgets == expected


def test_what_the_file_leaves_out_is_what_the_model_says(folder: Path) -> None:
    (folder / "planopt.yaml").write_text(RIGHT)
    loaded = load_workload("planopt.yaml")
    bare = Workload("demo", loaded.file, loaded.store, loaded.tables, (Query("first", sql="SELECT 1"),))
    assert loaded == bare
    assert loaded.store == str(folder / ".planopt/store")


def test_the_result_is_frozen_and_hashable(folder: Path) -> None:
    (folder / "planopt.yaml").write_text(RIGHT)
    loaded = load_workload(folder / "planopt.yaml")
    assert hash(loaded) == hash(load_workload("planopt.yaml"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        loaded.name = "other"  # type: ignore[misc]


def test_a_byte_order_mark_crlf_comments_and_an_explicit_yaml_1_2_are_fine(folder: Path) -> None:
    text = "\ufeff%YAML 1.2\n---\n# a comment\n" + RIGHT
    (folder / "planopt.yaml").write_bytes(text.replace("\n", "\r\n").encode())
    assert load_workload("planopt.yaml").name == "demo"


def test_aliases_repeat_a_value(folder: Path) -> None:
    text = RIGHT + "    parameters: &days\n      - {day: 1}\n  - {id: second, sql: SELECT 2, parameters: *days}\n"
    (folder / "planopt.yaml").write_text(text)
    first, second = load_workload("planopt.yaml").queries
    assert first.bindings == second.bindings == ((("day", 1),),)


def test_scalars_are_read_by_the_rules_of_yaml_1_2(folder: Path) -> None:
    (folder / "planopt.yaml").write_text(RIGHT + "    parameters: [{a: yes, b: no, c: '1', d: 007}]\n")
    assert load_workload("planopt.yaml").queries[0].bindings == ((("a", "yes"), ("b", "no"), ("c", "1"), ("d", 7)),)


def test_loading_a_workload_imports_neither_spark_nor_dagster(folder: Path) -> None:
    (folder / "planopt.yaml").write_text(RIGHT)
    code = (
        "import sys; from planopt_assets.workload import load_workload; load_workload('planopt.yaml');"
        "print([name for name in ('pyspark', 'dagster', 'pandas', 'py4j') if name in sys.modules])"
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env={"PYTHONPATH": root}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
