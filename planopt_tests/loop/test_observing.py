"""What is kept of an observation: every column is one the store declares, and holds what it says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from planopt_assets.engine.delta.pins import Pins
from planopt_assets.engine.execution.execute import Measured
from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.observing import (
    documents,
    engine_of,
    estimate_quality,
    explain_lines,
    node_records,
    plan_hashes,
    plan_trees,
    shared_content,
    table_record,
)
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.observe import observe
from planopt_assets.model.arm import Arm
from planopt_assets.model.bundle import Planned, bundle_hash
from planopt_assets.model.canonical import Canonical
from planopt_assets.model.column_lineage import ColumnLineage
from planopt_assets.model.inputs import PinnedTable
from planopt_assets.model.observation import ObservedBinding, PlanArtifact, PlanDetails
from planopt_assets.model.plan import Estimate, Misjudged, Plan, PlanNode
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.provenance import Planning, PlanningEnvironment, Rulepack
from planopt_assets.model.redaction import HIDDEN, learn
from planopt_assets.model.scan import ConjunctOutcome, Finding, Funnel, ScanOutcome, Size
from planopt_assets.model.scan_record import ScanRecord
from planopt_assets.model.signals import Signals, Spill
from planopt_assets.model.table_facts import Column, Protocol, TableFacts
from planopt_assets.model.table_layout import table_layout
from planopt_assets.model.trial import Digest
from planopt_assets.model.udf import UdfAudit
from planopt_assets.model.workload import Query, Workload
from planopt_assets.observe.bundle import Understood, planned_parts, understand
from planopt_assets.observe.plans.fingerprint import plan_fingerprint, topology_hash
from planopt_assets.observe.plans.stored_plan import read_plan, unpack
from planopt_assets.observe.tables.contract import contract_hash, contract_of
from planopt_assets.store.codecs.codec import AnyCodec
from planopt_assets.store.codecs.forms import digest_from_json, signals_from_json
from planopt_assets.store.codecs.observing import EXPLAINS, INPUT_TABLES, NODES, OBSERVED, SCANS, SHARED
from planopt_assets.store.schemas import TABLES
from planopt_tests.measured import counters
from planopt_tests.observe.test_bundle import FORMATTED, planned
from planopt_tests.rows import Row, scan_facts
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.fast

ORDERS = TableFacts(
    "orders",
    "/data/orders",
    "id-1",
    12,
    Protocol.of(3, 7, ["deletionVectors"], ["deletionVectors", "appendOnly"]),
    (Column("id", "long", nullable=False), Column("day", "date")),
    statistics_columns=("id",),
    committed_at_ms=1_700_000_000_123,
    files=3,
    bytes=400,
)


def rows(codec: AnyCodec, nouns: Iterable[Any]) -> list[Row]:
    """The rows of these nouns, which their table takes as they are."""
    found, schema = [codec.to_row(noun) for noun in nouns], TABLES[codec.table]
    assert not {name for row in found for name in row} - set(schema.names)
    pa.Table.from_pylist(found, schema=schema)
    return found


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


# columns of plan_artifacts


def chain(phase: str, *operators: str) -> Plan:
    nodes = tuple(PlanNode(i, i - 1, text.split(" ")[0], text) for i, text in enumerate(operators))
    return Plan(phase, nodes, "spark-plan-info@2")


INITIAL = chain("initial", "Sort", "Exchange hashpartitioning(a#0, 200), ENSURE_REQUIREMENTS", "Filter (k#1 = k-93fa)")
FINAL = chain("final", "Sort", "Filter (k#1 = k-93fa)")
DIGEST = Digest(3, "exact", "bits")
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


ENVIRONMENT = PlanningEnvironment(
    (("spark.sql.adaptive.enabled", "true"),),
    (("cores", "2"), ("delta", "4.4.0"), ("java", "17"), ("python", "3.11"), ("spark", "4.2.0")),
)
RULEPACK = Rulepack((("optimize: once", ("A", "B")), ("plan: strategies", ("C",))))


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


# What the stage itself puts into plan_artifacts


SQL = "SELECT id AS a FROM orders"


@dataclass
class Scripted:
    """What the stage needs of a workspace: every execution was planned as it is told, one after the other."""

    workload: Workload
    plannings: list[Planned]
    read: Sequence[TableFacts] = (ORDERS,)

    store = Workspace.store
    pins = Pins()
    capture = SimpleNamespace(tables={})
    first_expression_id = 0
    broadcast_threshold = 0
    baseline = Arm(ORIGINAL)
    sessions_lost = 0

    def revive(self) -> None:
        pass

    def serving(self, query: Query) -> AbstractContextManager[None]:
        return nullcontext()

    def execute(self, *_: Any, **__: Any) -> Measured:
        return Measured(counters(), DIGEST, FINAL, INITIAL, planned=self.plannings.pop(0))

    def effective_settings(self, names: Iterable[str]) -> dict[str, str]:
        return {"cores": "2"}

    @property
    def tables(self) -> tuple[PinnedTable, ...]:
        return tuple(PinnedTable(t.name, t.location, t.table_id, t.version) for t in self.read)

    def tables_read(self, query: Query, arm: Arm) -> tuple[PinnedTable, ...]:
        return self.tables

    def facts(self, table: PinnedTable) -> TableFacts:
        return next(t for t in self.read if t.name == table.name)


def observed(folder: Path, *plannings: Planned, read: Sequence[TableFacts] = (ORDERS,)) -> Row:
    """The stored row of a query that was planned like this, twice."""
    workload = Workload("demo", folder / "planopt.yaml", str(folder / "store"), (), (Query("q", sql=SQL),))
    run = Run(Scripted(workload, list(plannings), read), "run")  # type: ignore[arg-type]  # no Spark here
    observe(run, ["q"])
    [row] = StoredRows.of(run).rows("plan_artifacts")
    return row


def test_a_query_is_known_by_its_canonical_form(tmp_path: Path) -> None:
    told = planned()
    row = observed(tmp_path, told, told)
    canonical = understand(SQL, told, [ORDERS], 0).canonical
    assert (row["canonical_fingerprint"], row["canonical_form"], row["canonical_reason"]) == (
        canonical.fingerprint,
        "sqlglot",
        None,
    )


def test_imports_that_cannot_be_followed_are_said(tmp_path: Path) -> None:
    (tmp_path / "daily.py").write_text("import helpers\n")
    (tmp_path / "helpers.py").write_text("import_module(name)\n")
    query = Query("q", python="daily:build")
    workload = Workload("demo", tmp_path / "planopt.yaml", str(tmp_path / "store"), (), (query,), allow_python=True)
    told: list[str] = []
    run = Run(Scripted(workload, [planned()] * 2), "run", lambda stage, query_id, words: told.append(words))  # type: ignore[arg-type]  # no Spark here
    [result] = observe(run, ["q"])
    place = "helpers.py: import_module(…) in line 1"
    said = f"Imports that cannot be followed, so a change behind them is not noticed: {place}"
    assert said in told
    assert result.markdown.endswith(said)


def test_a_bundle_has_its_hash_its_parts_and_what_was_unstable(tmp_path: Path) -> None:
    first = planned(environment=ENVIRONMENT, rulepack=RULEPACK)
    second = replace(first, output=(("b", "int", True),))
    row = observed(tmp_path, first, second)
    parts = json.loads(row["bundle_parts"])
    planning = planned_parts(second, INITIAL, ())
    assert parts.items() > dict(planning).items()
    assert parts.keys() - dict(planning) == {"query", "snapshot", "contract", "lineage", "udfs"}
    assert [parts[name] for name in ("query", "snapshot", "contract")] == [
        row[name] for name in ("canonical_fingerprint", "snapshot_hash", "contract_hash")
    ]
    assert row["unstable_parts"] == ["output"]
    assert (row["planning_env_hash"], row["rulepack_hash"]) == (ENVIRONMENT.hash, RULEPACK.hash)
    assert row["bundle_hash"] == bundle_hash(tuple(parts.items())) == bundle_hash(tuple(parts.items())[::-1])


def test_the_contract_of_an_observation_is_that_of_its_tables_in_any_order(tmp_path: Path) -> None:
    nation = replace(ORDERS, name="nation")
    told = planned()
    here, there = (
        observed(tmp_path / name, told, told, read=read)
        for name, read in {"here": (ORDERS, nation), "there": (nation, ORDERS)}.items()
    )
    assert here["contract_hash"] == there["contract_hash"] == contract_hash(contract_of([ORDERS, nation]))


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
