"""Safeguards of Python workers in a real Spark: what they are there, what they do, and what they leave alone."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import functions as F

from planopt_assets.engine.capture.provenance import planning_environment
from planopt_assets.engine.jvm.bridge import Jvm
from planopt_assets.engine.sessions.python_workers import (
    FALLBACKS,
    WORKER_DEFAULTS,
    WORKER_SETTINGS,
    workers_in_force,
)
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import QueryTimedOut
from planopt_assets.model.workload import Query
from planopt_tests.conftest import workload_of
from planopt_tests.observe.observed import observed, one

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FAULTS = "spark.python.worker.faulthandler.enabled"
SQL_FAULTS = "spark.sql.execution.pyspark.udf.faulthandler.enabled"
BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"


@pytest.fixture
def defaults_of_spark(spark: SparkSession) -> dict[str, str]:
    find: Any = spark._jvm.org.apache.spark.internal.config.ConfigEntry.findEntry
    assert find("spark.python.worker.noSuchSetting") is None
    return {name: find(name).defaultValueString() for name in WORKER_SETTINGS}


def test_every_default_but_one_is_that_of_spark(defaults_of_spark: dict[str, str]) -> None:
    others = {name for name, value in WORKER_DEFAULTS.items() if defaults_of_spark[name] != value}
    assert others == {FAULTS}  # it adds to the message of a crash
    assert {name: defaults_of_spark[name] for name in FALLBACKS} == {
        n: f"<value of {by}>" for n, by in FALLBACKS.items()
    }


def test_a_setting_that_nobody_set_is_known(spark: SparkSession, defaults_of_spark: dict[str, str]) -> None:
    found = dict(workers_in_force(spark))
    assert found.items() >= {n: v for n, v in WORKER_DEFAULTS.items() if not n.endswith("BytesPerBatch")}.items()
    assert found["spark.sql.execution.arrow.maxBytesPerBatch"] in ("64MB", f"{64 * 1024 * 1024}b")
    assert found["spark.python.use.daemon"] == defaults_of_spark["spark.python.use.daemon"] == "true"
    assert found[SQL_FAULTS] == "true"  # by way of the application's
    assert not [name for name, value in found.items() if value.startswith(("<value of", "<default>", "(withheld)"))]


def test_a_setting_of_one_session_is_told_for_it_alone(spark: SparkSession) -> None:
    session = spark.newSession()
    session.conf.set(BATCH, "7")
    assert (dict(workers_in_force(session))[BATCH], dict(workers_in_force(spark))[BATCH]) == ("7", "10000")


def test_the_planning_environment_is_what_it_was_without_them(spark: SparkSession) -> None:
    untouched, session = spark.newSession(), spark.newSession()  # Delta sets what it needs in a session that has read
    recorded = dict(planning_environment(untouched, Jvm(untouched)).settings)
    assert {n: recorded[n] for n in FALLBACKS} == {n: f"<value of {by}>" for n, by in FALLBACKS.items()}
    assert {recorded[n] for n in recorded if n.startswith("spark.python.")} == {"<default>"}
    assert "spark.sql.execution.arrow.maxBytesPerBatch" not in recorded
    session.conf.set(SQL_FAULTS, "false")
    assert dict(planning_environment(session, Jvm(session)).settings) == {**recorded, SQL_FAULTS: "false"}


MODULE = """
import os, time
from pyspark.sql import functions as F

@F.udf("bigint")
def plus_one(n):
    return n + 1

def build(spark):
    return spark.table("shops").select(plus_one("shop").alias("next"))

@F.udf("bigint")
def endless(n, file):
    with open(file, "w") as out:
        out.write(str(os.getpid()))
    time.sleep(3600)
    return n

def hang(spark, file):
    return spark.table("shops").limit(1).select(endless("shop", F.lit(file)).alias("never"))
"""


def test_the_row_of_a_query_says_how_its_workers_were_set_up(spark: SparkSession, tables: Path) -> None:
    (tables / "with_functions.py").write_text(MODULE)
    queries = [Query("python", python="with_functions:build"), Query("sql", sql="SELECT shop + 1 FROM shops")]
    workload = workload_of(tables, queries, allow_python=True)
    observed(workload)
    told, silent = (json.loads(one(workload, "plan_artifacts", query_id=q)["udfs"]) for q in ("python", "sql"))
    assert told["workers"] == dict(workers_in_force(spark))
    assert silent == {"worst": "builtin", "functions": []}


def test_a_worker_that_hangs_ends_with_its_query(spark: SparkSession, tables: Path) -> None:
    (tables / "hanging.py").write_text(MODULE)
    file = tables / "pid"
    query = Query("hang", python="hanging:hang", bindings=((("file", str(file)),),))
    workspace = Workspace(workload_of(tables, [query], allow_python=True))
    with pytest.raises(QueryTimedOut):
        workspace.execute(query, 0, workspace.baseline, timeout_s=8)
    worker = int(file.read_text())
    for _ in range(300):
        if not psutil.pid_exists(worker):
            break
        time.sleep(0.1)
    assert not psutil.pid_exists(worker)


def crash(n: int) -> int:
    import ctypes

    return len(ctypes.string_at(0)) + n


def test_a_worker_that_crashes_says_in_which_function(spark: SparkSession) -> None:
    session, function = spark.newSession(), F.udf(crash, "bigint", useArrow=False)
    with pytest.raises(Py4JJavaError, match="Segmentation fault") as raised:
        session.range(1).select(function("id")).collect()
    assert "in crash" in str(raised.value)
    session.conf.set(SQL_FAULTS, "false")
    with pytest.raises(Py4JJavaError, match="exited unexpectedly") as raised:
        session.range(1).select(function("id")).collect()
    assert "in crash" not in str(raised.value)
