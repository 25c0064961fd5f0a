"""The input fingerprint: it changes with everything that could change an outcome, and with nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planopt_assets.model.inputs import PinnedTable, QuerySource, input_fingerprint, query_fingerprint
from planopt_assets.model.workload import Budgets, Knobs, Query, Table, Workload

pytestmark = pytest.mark.fast

QUERY = Query("q", sql="SELECT 1", bindings=((("since", "1995-01-01"),),), runs_per_day=24.0)
WORKLOAD = Workload("demo", Path("planopt.yaml"), "store", (), (QUERY,), spark_settings=(("spark.a", "1"),))
TABLES = (
    PinnedTable("orders", "/data/orders", "id-1", 12, "commit a1"),
    PinnedTable("nation", "/data/nation", "id-2", 0),
)
CONTRACT = {"spark": "4.2.0", "judge": "judge@1"}


def fingerprint(*, captured: bool = True, **changes: Any) -> str:
    text = changes.pop("source", QuerySource("SELECT 1"))
    known = {"workload": WORKLOAD, "query": QUERY, "tables": TABLES, "contract": CONTRACT, "java": "17"} | changes
    return input_fingerprint(**known, known_as=query_fingerprint(known["query"], text), captured=captured)


CHANGES: dict[str, dict[str, Any]] = {
    "the text of the query": {"source": QuerySource("SELECT 2")},
    "a module it imports": {"source": QuerySource("SELECT 1", (("helpers.py", "a1"),))},
    "another commit of the same version, in a diverged copy": {
        "tables": (replace(TABLES[0], head="commit b2"), TABLES[1])
    },
    "the release of Java": {"java": "21"},
    "a parameter value": {"query": replace(QUERY, bindings=((("since", "1996-01-01"),),))},
    "one more binding": {"query": replace(QUERY, bindings=QUERY.bindings * 2)},
    "runs per day": {"query": replace(QUERY, runs_per_day=1.0)},
    "a table version": {"tables": (replace(TABLES[0], version=13), TABLES[1])},
    "another table of that name": {"tables": (replace(TABLES[0], table_id="id-9"), TABLES[1])},
    "one table fewer": {"tables": TABLES[:1]},
    "the Spark master": {"workload": replace(WORKLOAD, master="local[2]")},
    "a Spark setting": {"workload": replace(WORKLOAD, spark_settings=(("spark.a", "2"),))},
    "the objective": {"workload": replace(WORKLOAD, objective="bytes")},
    "a budget": {"workload": replace(WORKLOAD, budgets=Budgets(per_query=1.0))},
    "a denied knob": {"workload": replace(WORKLOAD, knobs=Knobs(deny=("spark.sql.shuffle.partitions",)))},
    "a pinned knob": {"workload": replace(WORKLOAD, knobs=Knobs(pin=(("spark.a", "1"),)))},
    "the seed": {"workload": replace(WORKLOAD, seed=7)},
    "leave to run Python": {"workload": replace(WORKLOAD, allow_python=True)},
    "the version of Spark": {"contract": {**CONTRACT, "spark": "4.3.0"}},
    "the version of the judge": {"contract": {**CONTRACT, "judge": "judge@another"}},
}

SAME: dict[str, dict[str, Any]] = {
    "the mode, so that advise's evidence may be promoted in auto": {"workload": replace(WORKLOAD, mode="auto")},
    "the workload's name": {"workload": replace(WORKLOAD, name="other")},
    "where the store is": {"workload": replace(WORKLOAD, store="elsewhere")},
    "where a table is": {"tables": (replace(TABLES[0], location="/moved/orders"), TABLES[1])},
    "the order of the tables": {"tables": TABLES[::-1]},
    "tables it does not read": {"workload": replace(WORKLOAD, tables=(Table("more", "/data/more"),))},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_fingerprint_changes_with(change: dict[str, Any]) -> None:
    assert fingerprint(**change) != fingerprint()


@pytest.mark.parametrize("change", SAME.values(), ids=SAME)
def test_the_fingerprint_does_not_depend_on(change: dict[str, Any]) -> None:
    assert fingerprint(**change) == fingerprint()


def test_a_table_registered_since_matters_to_a_query_that_was_not_captured() -> None:
    # It may be the one the query was refused for.
    more = replace(WORKLOAD, tables=(Table("more", "/data/more"),))
    assert fingerprint(captured=False, workload=more) != fingerprint(captured=False)


def test_a_pinned_table_is_named_with_its_version() -> None:
    assert TABLES[0].ref == "orders@v12"


def test_java_does_not_count_for_a_query_that_was_not_captured() -> None:
    assert fingerprint(captured=False, java="21") == fingerprint(captured=False, java=None)
