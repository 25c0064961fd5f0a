"""The row of plan_artifacts: plans, what a query is and needs, and how good the estimates were."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from planopt_assets.engine.execution.execute import Measured
from planopt_assets.loop.observing import (
    documents,
    engine_of,
    estimate_quality,
    plan_hashes,
    plan_trees,
)
from planopt_assets.model.bundle import Planned
from planopt_assets.model.canonical import Canonical
from planopt_assets.model.column_lineage import ColumnLineage
from planopt_assets.model.observation import ObservedBinding, PlanArtifact, PlanDetails
from planopt_assets.model.plan import Estimate, Misjudged, Plan, PlanNode
from planopt_assets.model.provenance import Planning
from planopt_assets.model.redaction import HIDDEN, learn
from planopt_assets.model.signals import Signals, Spill
from planopt_assets.model.table_facts import TableFacts
from planopt_assets.model.udf import UdfAudit
from planopt_assets.observe.bundle import Understood
from planopt_assets.observe.plans.fingerprint import plan_fingerprint, topology_hash
from planopt_assets.observe.plans.stored_plan import read_plan, unpack
from planopt_assets.store.codecs.forms import digest_from_json, signals_from_json
from planopt_assets.store.codecs.observing import OBSERVED
from planopt_tests.loop.scripted_workspace import (
    DIGEST,
    ENVIRONMENT,
    FINAL,
    INITIAL,
    ORDERS,
    rows,
)
from planopt_tests.measured import counters
from planopt_tests.observe.test_bundle import planned
from planopt_tests.rows import Row

pytestmark = pytest.mark.fast

SIGNALS = Signals(spills=(Spill(0, "Sort", 9),))

UNDERSTOOD = Understood(Canonical("sqlglot", "SELECT 1", "can_1"), ColumnLineage({}, ()), UdfAudit(()))


def captured(
    told: Planned,
    understood: Understood = UNDERSTOOD,
    tables: Sequence[TableFacts] = (),
    final: Plan = FINAL,
    misled: Sequence[Misjudged] = (),
) -> Row:
    """The row of one captured binding."""
    done = Measured(counters(), DIGEST, final, INITIAL, planned=told)
    artifact = PlanArtifact(
        *("obs", "q", 0, "captured", "qry_1", "inp_1"),
        **plan_hashes(INITIAL, final),
        **estimate_quality(final, misled),
        engine=engine_of(told),
    )
    trees, hashes = plan_trees("obs", done, final)
    known = documents(understood, tables, told)
    details = PlanDetails("obs", **known, signals=SIGNALS, digest=done.digest, plan_hashes=hashes)
    [row] = rows(OBSERVED, [ObservedBinding(artifact, details, trees)])
    return row


def with_plans() -> Row:
    logical = planned(analyzed=[{"class": "x.Literal", "value": "k-93fa"}], optimized=[{"class": "x.Other k-93fa"}])
    return captured(logical)


def test_both_physical_plans_are_kept_with_their_hashes() -> None:
    row = with_plans()
    assert (row["plan_fingerprint"], row["final_plan_fingerprint"]) == (
        plan_fingerprint(INITIAL),
        plan_fingerprint(FINAL),
    )
    assert (row["topology_hash"], row["final_topology_hash"]) == (topology_hash(INITIAL), topology_hash(FINAL))
    assert [n.detail for n in read_plan(row["plan"], "initial").nodes] == [n.detail for n in INITIAL.nodes]
    assert [n.detail for n in read_plan(row["plan"], "final").nodes] == [n.detail for n in FINAL.nodes]
    assert (row["extractor"], digest_from_json(row["digest"])) == ("spark-plan-info@2", DIGEST)
    assert signals_from_json(row["signals"]) == SIGNALS


def test_logical_plans_are_kept_and_all_plans_have_a_hash_of_the_whole() -> None:
    row = with_plans()
    assert unpack(row["analyzed_plan"]) == [{"class": "x.Literal", "value": "k-93fa"}]
    assert unpack(row["optimized_plan"]) == [{"class": "x.Other k-93fa"}]
    kept = json.loads(row["plan_hashes"])
    assert kept.keys() == {"physical", "analyzed", "optimized"}
    assert len({plan["hash"] for plan in kept.values()}) == 3
    assert all(plan["stored"] for plan in kept.values())


def test_no_secret_is_in_a_packed_plan() -> None:
    open_ = with_plans()
    learn(["k-93fa"])
    row = with_plans()
    plans = {name: unpack(row[name]) for name in ("plan", "analyzed_plan", "optimized_plan")}
    assert "k-93fa" not in str(plans)
    assert plans["plan"]["initial"][2][2] == f"Filter (k#1 = {HIDDEN})"
    assert row["plan_fingerprint"] == open_["plan_fingerprint"]  # which literal it was still counts


def estimated(*nodes: tuple[str, int | None, int]) -> Plan:
    """Operators with the source and rows of their estimates, and the rows they really had."""
    return Plan(
        "final",
        tuple(
            PlanNode(i, i - 1, "Filter", "", (("number of output rows", actual),), Estimate(rows, None, source))
            for i, (source, rows, actual) in enumerate(nodes)
        ),
        "x",
    )


@pytest.mark.parametrize(
    ("sources", "best"),
    [
        (("none", "plan", "delta_log"), "plan"),
        (("explain", "delta_log"), "delta_log"),
        (("none", "explain"), "explain"),
        (("none",), "none"),
        ((), "none"),
    ],
)
def test_the_best_source_of_statistics_is_named(sources: tuple[str, ...], best: str) -> None:
    row = captured(planned(), final=estimated(*((s, 1, 1) for s in sources)))
    assert row["statistics_source"] == best


def test_the_worst_error_and_the_joins_it_misled_are_kept() -> None:
    final = estimated(("plan", 9, 9), ("plan", 99, 9), ("plan", 4, 9))
    row = captured(planned(), final=final, misled=[Misjudged(1, "Filter", 10.0, "bytes", 12, 120)])
    assert row["worst_error_factor"] == 10.0
    expected = {"node": 1, "kind": "Filter", "factor": 10.0, "by": "bytes", "estimated": 12, "actual": 120}
    assert json.loads(row["misled_joins"]) == [expected]


def test_without_estimates_there_is_no_worst_error() -> None:
    row = captured(planned(), final=estimated(("none", None, 9)))
    assert (row["worst_error_factor"], row["misled_joins"]) == (None, "[]")


def test_what_a_query_is_and_needs() -> None:
    understood = Understood(
        Canonical("sqlglot", "SELECT 1", "can_1"),
        ColumnLineage({"orders": ("id",)}, (("a", ("orders.id",)),)),
        UdfAudit(()),
    )
    how = Planning(("A",), (("analysis", 3), ("planning", 5)))
    row = captured(planned(environment=ENVIRONMENT, planning=how), understood, [ORDERS])
    assert row["engine"] == "delta 4.4.0, java 17, spark 4.2.0"
    assert (row["canonical_sql"], row["canonical_reason"]) == ("SELECT 1", None)
    assert (row["udf_rung"], row["effective_rules"], json.loads(row["phases"])) == (
        "builtin",
        ["A"],
        {"analysis": 3, "planning": 5},
    )
    assert json.loads(row["column_lineage"])["required"] == {"orders": ["id"]}
    sides = [(column["side"], column["column"]) for column in json.loads(row["output_schema"])]
    assert sides == [("input", "id"), ("input", "day"), ("output", "a")]


def test_why_there_is_no_canonical_text_is_kept() -> None:
    understood = Understood(Canonical("analyzed_plan", "x", "can_1", "a frame"), ColumnLineage({}, ()), UdfAudit(()))
    assert captured(planned(), understood)["canonical_reason"] == "a frame"
