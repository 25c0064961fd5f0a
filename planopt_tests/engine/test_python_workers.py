"""Safeguards of Python workers: known for every query that has them, and no part of any hash."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from planopt_assets.engine.sessions.python_workers import (
    FALLBACKS,
    WORKER_DEFAULTS,
    WORKER_SETTINGS,
    without_own_defaults,
)
from planopt_assets.engine.sessions.session import session_settings
from planopt_assets.loop.observing import documents
from planopt_assets.model.canonical import Canonical
from planopt_assets.model.column_lineage import ColumnLineage
from planopt_assets.model.ids import content_id
from planopt_assets.model.udf import Udf, UdfAudit
from planopt_assets.observe.bundle import Understood
from planopt_tests.hashed import WORLD, planned

pytestmark = pytest.mark.fast

REUSE, FAULTS = "spark.python.worker.reuse", "spark.python.worker.faulthandler.enabled"
SQL_FAULTS = "spark.sql.execution.pyspark.udf.faulthandler.enabled"


def test_what_planopt_sets_itself_is_no_change_of_the_environment() -> None:
    shows_them = {SQL_FAULTS: "true", "spark.sql.ansi.enabled": "true"}
    found = without_own_defaults(shows_them, WORKER_DEFAULTS)
    assert found == {
        "spark.sql.ansi.enabled": "true",
        **{name: f"<value of {by}>" for name, by in FALLBACKS.items()},
    }


@pytest.mark.parametrize(
    "given", [{REUSE: "false"}, {FAULTS: "false"}, {SQL_FAULTS: "false"}, {**WORKER_DEFAULTS, SQL_FAULTS: "false"}]
)
def test_what_a_workload_sets_is(given: dict[str, str]) -> None:
    changed = {name: value for name, value in given.items() if WORKER_DEFAULTS.get(name) != value}
    assert without_own_defaults({}, given).items() >= changed.items()
    assert without_own_defaults({}, given) != without_own_defaults({}, WORKER_DEFAULTS)


def test_they_are_set_in_the_session_of_planopt_and_a_workload_wins() -> None:
    assert session_settings(WORLD.workload).items() >= WORKER_DEFAULTS.items()
    asked = replace(WORLD.workload, spark_settings=((REUSE, "false"),))
    assert session_settings(asked)[REUSE] == "false"


PYTHON = Udf("plus", "python", "batched", True, "bigint", ("id",), "row_wise")
WORKERS = (("spark.python.task.killTimeout", "2s"), ("spark.sql.execution.arrow.maxRecordsPerBatch", "10000"))


def stored(*functions: Udf, workers: tuple[tuple[str, str], ...] = WORKERS) -> dict[str, Any]:
    known = planned(WORLD)
    told = replace(known, environment=replace(known.environment, workers=workers))
    understood = Understood(Canonical("sqlglot", "SELECT 1", "can_1"), ColumnLineage({}, ()), UdfAudit(functions))
    found: dict[str, Any] = json.loads(documents(understood, [], told)["udfs"])
    return found


@pytest.mark.parametrize("kind", ["python", "pandas", "arrow"])
def test_a_query_with_python_functions_says_how_their_workers_were_set_up(kind: Any) -> None:
    function = replace(PYTHON, kind=kind)
    assert stored(function) == {**UdfAudit((function,)).to_json(), "workers": dict(WORKERS)}


@pytest.mark.parametrize("functions", [(), (replace(PYTHON, kind="scala", rung="jvm"),)], ids=["none", "scala"])
def test_a_query_without_them_is_stored_as_before(functions: tuple[Udf, ...]) -> None:
    assert stored(*functions) == UdfAudit(functions).to_json()


def test_no_hash_sees_them() -> None:
    environment = planned(WORLD).environment
    assert replace(environment, workers=WORKERS).hash == environment.hash
    # of a store written before they were recorded
    assert content_id("udf", UdfAudit((PYTHON,)).to_json()) == "udf_1482965427aea462"


def test_everything_planopt_sets_is_recorded() -> None:
    assert set(WORKER_SETTINGS) > set(WORKER_DEFAULTS) | set(FALLBACKS)
    assert list(WORKER_SETTINGS) == sorted(WORKER_SETTINGS)
