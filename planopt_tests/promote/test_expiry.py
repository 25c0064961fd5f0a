"""When evidence ends: schema, layout, engine, meaning. And when it does not: more rows, another formatting."""

from __future__ import annotations

from typing import Any

import pytest

from planopt_assets.model.observation import PlanArtifact
from planopt_assets.model.table_ddl import create_statement
from planopt_assets.model.table_facts import Column, Protocol, TableFacts
from planopt_assets.model.table_layout import Layout, layout_in_ddl, table_layout
from planopt_assets.promote.expiry import expired
from planopt_assets.store.codecs.observing import ARTIFACTS
from planopt_tests.rows import Row, captured_row

pytestmark = pytest.mark.fast

ENGINE = "delta 4.4.0, java 17.0.9, spark 4.2.0"


def seen(**changes: Any) -> PlanArtifact:
    known = {"canonical_fingerprint": "cql_1", "contract_hash": "ctr_1", "engine": ENGINE, "parameters": "{}"}
    return ARTIFACTS.from_row(captured_row("r", **{**known, **changes}))


def orders(**changes: Any) -> dict[str, Layout]:
    facts = {"columns": (Column("id", "long"), Column("day", "date")), "protocol": Protocol(1, 2), **changes}
    table = TableFacts("orders", "/o", "x", 1, **facts)
    # A row of an older planopt has the layout in its CREATE statement only: both ways say the same.
    assert layout_in_ddl(create_statement(table)) == table_layout(table)
    return {"orders": table_layout(table)}


CHANGES = {
    "the query": ({"canonical_fingerprint": "cql_2"}, "the meaning of the query changed"),
    "its parameters": ({"parameters": '{"n": 1}'}, "the parameters of the query changed"),
    "the schema": ({"contract_hash": "ctr_2"}, "the schema or constraints of its tables changed"),
    "Spark": ({"engine": ENGINE.replace("4.2.0", "4.3.0")}, "the engine changed: spark 4.2.0 is spark 4.3.0 now"),
    "Delta": ({"engine": ENGINE.replace("4.4.0", "4.5.0")}, "the engine changed: delta 4.4.0 is delta 4.5.0 now"),
    "Java": ({"engine": ENGINE.replace("17.0.9", "21.0.1")}, "the engine changed: java 17.0.9 is java 21.0.1 now"),
}


@pytest.mark.parametrize(("changes", "reason"), CHANGES.values(), ids=CHANGES)
def test_evidence_ends_with(changes: Row, reason: str) -> None:
    assert expired([seen()], [seen(**changes)]) == reason


LAYOUTS = {
    "partitioning": ({"partition_columns": ("day",)}, "partitioned by was not set and is `day`"),
    "clustering": ({"clustering_columns": ("id",)}, "clustered by was not set and is id"),
    "a property": (
        {"properties": (("delta.targetFileSize", "32mb"),)},
        "delta.targetFileSize was not set and is 32mb",
    ),
}


@pytest.mark.parametrize(("changes", "words"), LAYOUTS.values(), ids=LAYOUTS)
def test_evidence_ends_with_another_layout(changes: Row, words: str) -> None:
    assert expired([seen()], [seen()], orders(), orders(**changes)) == f"the layout of orders changed: {words}"
    assert expired([seen()], [seen()], orders(**changes), orders(**changes)) == ""


KEPT = {
    "nothing changed": {},
    "more rows": {"input_fingerprint": "inp_2", "snapshot_hash": "snp_2"},
    "another formatting": {"query_fingerprint": "qry_2", "input_fingerprint": "inp_2"},
    "another plan": {"topology_hash": "top_9"},
    "an older planopt, which recorded less": {
        "canonical_fingerprint": None,
        "contract_hash": None,
        "engine": None,
    },
}


@pytest.mark.parametrize("changes", KEPT.values(), ids=KEPT)
def test_evidence_stays_where(changes: Row) -> None:
    assert expired([seen()], [seen(**changes)]) == ""
    assert expired([seen(**changes)], [seen()]) == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"properties": (("delta.logRetentionDuration", "interval 7 days"),)},
        {"properties": (("delta.checkpointInterval", "20"),)},
        {"properties": (("delta.enableChangeDataFeed", "true"),)},
        {"description": "orders CLUSTER BY (nothing)"},
        {"columns": (Column("id", "long", comment="TBLPROPERTIES ('delta.x' = '1')"), Column("day", "date"))},
    ],
    ids=["retention", "checkpoints", "change feed", "description", "comment"],
)
def test_what_moves_no_file_is_no_layout(changes: Row) -> None:
    assert expired([seen()], [seen()], orders(), orders(**changes)) == ""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delta.autoOptimize.optimizeWrite", "true"),
        ("delta.autoOptimize.autoCompact", "true"),
        ("delta.enableDeletionVectors", "true"),
        ("delta.dataSkippingStatsColumns", "id,day"),
    ],
)
def test_what_planopt_itself_sets_with_a_layout_ends_no_evidence(name: str, value: str) -> None:
    assert expired([seen()], [seen()], orders(), orders(properties=((name, value),))) == ""
    older = {"orders": {name: value}}  # as stored before
    assert expired([seen()], [seen()], older, orders()) == ""


def test_clustering_by_planopt_ends_no_evidence() -> None:
    before, after = orders(clustering_columns=("id",)), orders(clustering_columns=("day",))
    assert expired([seen()], [seen()], before, after, ["orders"]) == ""
    assert expired([seen()], [seen()], before, after, ["sales"]) != ""


def test_the_order_of_bindings_does_not_matter_but_one_more_does() -> None:
    one, two = seen(parameters='{"n": 1}'), seen(binding=1, parameters='{"n": 2}')
    swapped = [seen(parameters='{"n": 2}'), seen(binding=1, parameters='{"n": 1}')]
    assert expired([one, two], swapped) == ""
    assert expired([one], [one, two]) == "the parameters of the query changed"


def test_a_table_that_is_read_on_one_side_only_has_no_layout_to_compare() -> None:
    assert expired([seen()], [seen()], orders(), {}) == ""
