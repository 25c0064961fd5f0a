"""Rows of an observation: every column is one the store declares, and holds what it says."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from planopt_assets.loop.observing import (
    explain_lines,
    node_records,
    shared_content,
    table_record,
)
from planopt_assets.model.plan import Estimate, Plan, PlanNode
from planopt_assets.model.provenance import Rulepack
from planopt_assets.model.scan import ConjunctOutcome, Finding, Funnel, ScanOutcome, Size
from planopt_assets.model.scan_record import ScanRecord
from planopt_assets.model.table_layout import table_layout
from planopt_assets.observe.tables.contract import contract_of
from planopt_assets.store.codecs.observing import EXPLAINS, INPUT_TABLES, NODES, SCANS, SHARED
from planopt_tests.loop.scripted_workspace import (
    ENVIRONMENT,
    ORDERS,
    RULEPACK,
    rows,
)
from planopt_tests.observe.test_bundle import FORMATTED, planned
from planopt_tests.rows import scan_facts

pytestmark = pytest.mark.fast

# plan_nodes

NODE = PlanNode(
    3,
    1,
    "Exchange",
    "Exchange hashpartitioning(a#0, 8)",
    (("data size", 100), ("fetch wait time", 5), ("shuffle records written", 9), ("spill size", 0)),
    Estimate(99, 400, "plan", at_runtime=True),
    4,
    (1, 2, 3),
)


def test_an_operator_is_one_row_with_estimate_and_outcome() -> None:
    [row] = rows(NODES, node_records("q", "obs", [Plan("final", (NODE,), "x")]))
    assert json.loads(row.pop("metrics")) == {"data size": 100, "fetch wait time": 5, "shuffle records written": 9}
    assert row == {
        "query_id": "q",
        "observation_id": "obs",
        "phase": "final",
        "node": 3,
        "parent": 1,
        "kind": "Exchange",
        "detail": "Exchange hashpartitioning(a#0, 8)",
        "estimated_rows": 99,
        "estimated_bytes": 400,
        "statistics_source": "plan",
        "estimated_at_runtime": True,
        "actual_rows": 9,
        "actual_bytes": 100,
        "error_factor": 10.0,
        "error_by": "rows",
        "operator_ms": 5,
        "smallest_partition_bytes": 1,
        "median_partition_bytes": 2,
        "largest_partition_bytes": 3,
    }


def test_what_nobody_told_of_an_operator_is_null() -> None:
    [row] = rows(NODES, node_records("q", "obs", [Plan("initial", (PlanNode(0, -1, "Project", ""),), "x")]))
    told = {"query_id", "observation_id", "phase", "node", "parent", "kind", "detail", "metrics"}
    told |= {"statistics_source", "estimated_at_runtime"}
    assert {name for name, value in row.items() if value is not None} == told
    assert (row["metrics"], row["statistics_source"]) == ("{}", "none")


def test_all_operators_of_all_plans_are_rows() -> None:
    plans = [Plan(phase, (NODE, NODE), "x") for phase in ("initial", "final")]
    assert [record.phase for record in node_records("q", "obs", plans)] == ["initial", "initial", "final", "final"]


# input_tables


def test_a_table_is_one_row_with_what_it_says_of_itself() -> None:
    [row] = rows(INPUT_TABLES, [table_record("q", "obs", ORDERS, ("x",), ("x", "y"))])
    assert (row["query_id"], row["observation_id"]) == ("q", "obs")
    assert (row["table"], row["version"], row["files"], row["bytes"]) == ("orders", 12, 3, 400)
    assert row["committed_at"] == datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=UTC)
    assert (row["unknown_reader_features"], row["unknown_writer_features"]) == (["x"], ["x", "y"])
    assert (row["reader_features"], row["writer_features"]) == (["deletionVectors"], ["appendOnly", "deletionVectors"])
    assert json.loads(row["contract"]) == contract_of([ORDERS])
    assert json.loads(row["layout"]) == table_layout(ORDERS)
    assert row["metadata"].startswith("CREATE TABLE")
    assert row["statistics_columns"] == ["id"]


def test_a_table_without_a_time_or_unknown_features_has_none() -> None:
    [row] = rows(INPUT_TABLES, [table_record("q", "obs", replace(ORDERS, committed_at_ms=None), (), ())])
    assert (row["committed_at"], row["unknown_reader_features"], row["unknown_writer_features"]) == (None, [], [])


# explains and provenance


def test_a_formatted_plan_is_rows_with_operators_and_any_other_text_is_rows_of_lines() -> None:
    texts = (("formatted", FORMATTED), ("cost", "first\n  second"))
    lines = rows(EXPLAINS, explain_lines("q", "obs", planned(explains=texts)))
    assert [(r["position"], r["text"]) for r in lines if r["mode"] == "cost"] == [(0, "first"), (1, "  second")]
    assert {r["node"] for r in lines if r["mode"] == "formatted"} >= {"Project", "Range"}
    assert {(r["query_id"], r["observation_id"]) for r in lines} == {("q", "obs")}


def test_environment_and_rulepack_are_stored_once() -> None:
    known: set[str] = set()
    told = planned(environment=ENVIRONMENT, rulepack=RULEPACK)
    contents = rows(SHARED, shared_content("q", told, known))
    assert {row["kind"]: row["hash"] for row in contents} == {
        "planning_env": ENVIRONMENT.hash,
        "rulepack": RULEPACK.hash,
    }
    assert json.loads(contents[1]["content"]) == [["optimize: once", ["A", "B"]], ["plan: strategies", ["C"]]]
    assert json.loads(contents[0]["content"])["settings"] == {"spark.sql.adaptive.enabled": "true"}
    assert list(shared_content("q", told, known)) == []
    other = replace(told, rulepack=Rulepack(()))
    assert [content.kind for content in shared_content("q", other, known)] == ["rulepack"]


# scan_outcomes

SCAN = scan_facts(
    position=2,
    pushed_filters=("IsNotNull(id)",),
    funnel=Funnel(Size(1, 2, 3), Size(4, 5, 6), Size(7, 8, 9), Size(10, 11, 12), Size(rows=13)),
)


def outcome(finding: Finding | None = None, **changes: Any) -> ScanOutcome:
    conjuncts = tuple(ConjunctOutcome("x", f, "data", "files", "files", "pushed") for f in ("range", "equal", "range"))
    known = {"outcome": "full_pushdown", "reason": "why", "conjuncts": conjuncts, "pruned_share": 0.25, **changes}
    return ScanOutcome("orders", 12, 2, "small", runtime_filters=(), finding=finding, **known)


def test_a_scan_is_one_row_with_its_funnel() -> None:
    [row] = rows(SCANS, [ScanRecord.of("q", "obs", 1, SCAN, outcome())])
    stages = ("total", "partition", "scanned", "read")
    sizes = [row[f"{stage}_{unit}"] for stage in stages for unit in ("files", "bytes", "rows")]
    assert [*sizes, row["matched_rows"]] == list(range(1, 14))
    assert (row["binding"], row["scan"], row["table"], row["table_version"], row["native"]) == (
        1,
        2,
        "orders",
        12,
        True,
    )
    assert (row["families"], row["pushed_filters"], row["pruned_share"]) == (
        ["equal", "range"],
        ["IsNotNull(id)"],
        0.25,
    )
    assert len(json.loads(row["conjuncts"])) == 3


def test_a_finding_says_what_was_wrong_and_what_to_do() -> None:
    finding = Finding("cast(id)", "cast", "there is a cast on id", "compare it uncast")
    found, nothing = rows(SCANS, [ScanRecord.of("q", "obs", 0, SCAN, outcome(f)) for f in (finding, None)])
    assert found["finding"] == "there is a cast on id: compare it uncast"
    assert nothing["finding"] is None
