"""Lineage: ids name their own kind, edges lead from a row to what it was made from, and the tree ends at the tables."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.errors import RowNotFound
from planopt_assets.model.ids import content_id
from planopt_assets.store.codecs.deciding import EDGES
from planopt_assets.store.lineage import KINDS, edges, kind_of, tree
from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.rows import FEWER, promotion

pytestmark = pytest.mark.fast

OBSERVATION, TRIAL, VERDICT = "obs-1f2e-q-b0", "tri-1f2e-q-4bb5a901-r1-b0", "ver-1f2e-q-can_11"
DECISION, CANDIDATE = content_id("dec", 1), content_id("can", 1)


@pytest.mark.parametrize(
    ("row_id", "kind"),
    [
        (promotion().id, "promotion"),
        (VERDICT, "verdict"),
        (TRIAL, "trial"),
        (CANDIDATE, "candidate"),
        (DECISION, "decision"),
        (OBSERVATION, "observation"),
        (FEWER.id, "policy"),
        ("lineitem@v12", "table"),
        ("orders@v0", "table"),
        ("verified@v3", "table"),
        ("candy@v1", "table"),
        ("candy@v1.wrapper", "column"),
        ("lineitem@v12.l_tag.name", "column"),
    ],
)
def test_an_id_names_its_kind_and_anything_else_is_a_table(row_id: str, kind: str) -> None:
    assert kind_of(row_id) == kind


def test_there_is_one_kind_for_every_prefix() -> None:
    assert len(set(KINDS.values())) == len(KINDS)


def test_there_is_one_edge_for_every_parent() -> None:
    assert [EDGES.to_row(e) for e in edges("q", "validate", VERDICT, [CANDIDATE, TRIAL])] == [
        {
            "query_id": "q",
            "child_kind": "verdict",
            "child_id": VERDICT,
            "parent_kind": kind,
            "parent_id": parent,
            "stage": "validate",
        }
        for parent, kind in ((CANDIDATE, "candidate"), (TRIAL, "trial"))
    ]


def test_a_parent_named_twice_is_one_edge() -> None:
    assert len(edges("q", "validate", VERDICT, [TRIAL, TRIAL])) == 1


def test_a_row_made_from_nothing_has_no_edge() -> None:
    assert edges("q", "observe", OBSERVATION, []) == []


def test_edges_fit_the_lineage_table() -> None:
    assert set(EDGES.to_row(edges("q", "validate", VERDICT, [TRIAL])[0])) <= set(TABLES["lineage"].names)


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    """A store in which a verdict came from a candidate and a trial, and both from two tables."""
    made = {
        VERDICT: [CANDIDATE, TRIAL],
        CANDIDATE: [DECISION],
        DECISION: [OBSERVATION],
        TRIAL: [OBSERVATION],
        OBSERVATION: ["lineitem@v12", "orders@v3", "lineitem@v12.l_orderkey", "lineitem@v12.l_tag.name"],
    }
    common = {
        "schema_version": SCHEMA_VERSION,
        "workload": "demo",
        "run_id": "1f2e",
        "recorded_at": datetime(2026, 1, 1, tzinfo=UTC),
    }
    rows = [
        {**common, **EDGES.to_row(edge)}
        for child, parents in made.items()
        for edge in edges("q", "any", child, parents)
    ]
    write_deltalake(tmp_path / "lineage", pa.Table.from_pylist(rows, schema=TABLES["lineage"]))
    return Snapshot(str(tmp_path), "demo")


def test_the_tree_of_a_row_goes_down_to_tables_with_versions(snapshot: Snapshot) -> None:
    observation = {
        "kind": "observation",
        "id": OBSERVATION,
        "came_from": [
            {"kind": "table", "id": "lineitem@v12", "columns": ["l_orderkey", "l_tag.name"], "came_from": []},
            {"kind": "table", "id": "orders@v3", "columns": [], "came_from": []},
        ],
    }
    decision = {"kind": "decision", "id": DECISION, "came_from": [observation]}
    assert tree(snapshot, VERDICT).facts() == {
        "kind": "verdict",
        "id": VERDICT,
        "came_from": [
            {"kind": "candidate", "id": CANDIDATE, "came_from": [decision]},
            {"kind": "trial", "id": TRIAL, "came_from": [observation]},
        ],
    }


def test_a_table_is_described_with_the_columns_that_were_needed(snapshot: Snapshot) -> None:
    lineitem, orders = tree(snapshot, OBSERVATION).parents
    assert lineitem.describe() == "table lineitem@v12 (l_orderkey, l_tag.name)"
    assert orders.describe() == "table orders@v3"


def test_the_tree_is_plain_data(snapshot: Snapshot) -> None:
    facts = tree(snapshot, TRIAL).facts()
    assert json.loads(json.dumps(facts)) == facts


def test_an_id_nobody_stored_is_an_error_that_says_where_to_find_one(snapshot: Snapshot) -> None:
    with pytest.raises(RowNotFound, match="planopt status --json") as error:
        tree(snapshot, "ver-unknown")
    assert error.value.code == "PLN-304"


def test_rows_of_another_workload_have_no_lineage_here(snapshot: Snapshot) -> None:
    with pytest.raises(RowNotFound):
        tree(Snapshot(snapshot.root, "another"), VERDICT)
