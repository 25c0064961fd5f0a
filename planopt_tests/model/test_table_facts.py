"""Hashes of what a query reads: each input changes them, the order of things that have none does not."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.model.table_facts import SCAN_PROPERTIES, SCAN_SETTINGS, Column, Protocol, TableFacts, snapshot_hash
from planopt_tests.fresh_python import output_of

pytestmark = pytest.mark.fast

SALES = TableFacts(
    "sales",
    "/data/sales",
    "11-22",
    4,
    Protocol.of(3, 7, ["deletionVectors", "columnMapping"], ["deletionVectors", "appendOnly", "columnMapping"]),
    (Column("id", "long", nullable=False), Column("day", "date")),
    partition_columns=("day",),
    properties=(("delta.columnMapping.mode", "name"), ("delta.logRetentionDuration", "interval 1 day")),
)
SHOPS = TableFacts("shops", "/data/shops", "33-44", 0, Protocol.of(1, 2), (Column("id", "long"),))
SETTINGS = {"spark.sql.files.maxPartitionBytes": "128m", "spark.sql.shuffle.partitions": "200"}
HASH = snapshot_hash([SALES, SHOPS], SETTINGS)

SCANNED_OTHERWISE: dict[str, dict[str, Any]] = {
    "name": {"name": "sold"},
    "id": {"table_id": "11-23"},
    "version": {"version": 5},
    "reader version": {"protocol": replace(SALES.protocol, min_reader=2)},
    "writer version": {"protocol": replace(SALES.protocol, min_writer=6)},
    "reader feature": {"protocol": replace(SALES.protocol, reader_features=("deletionVectors",))},
    "writer feature": {"protocol": replace(SALES.protocol, writer_features=("deletionVectors",))},
    "column name": {"columns": (Column("key", "long", nullable=False), Column("day", "date"))},
    "column type": {"columns": (Column("id", "integer", nullable=False), Column("day", "date"))},
    "nullability": {"columns": (Column("id", "long"), Column("day", "date"))},
    "column order": {"columns": SALES.columns[::-1]},
    "partitioning": {"partition_columns": ()},
    "scan property": {"properties": (("delta.columnMapping.mode", "id"),)},
}
SCANNED_ALIKE: dict[str, dict[str, Any]] = {
    "place": {"location": "/moved/sales"},
    "time": {"committed_at_ms": 99},
    "size": {"files": 3, "bytes": 4},
    "description": {"description": "what was sold"},
    "comment": {"columns": (Column("id", "long", nullable=False, comment="key"), Column("day", "date"))},
    "other property": {"properties": (SALES.properties[0], ("delta.logRetentionDuration", "interval 9 days"))},
}


@pytest.mark.parametrize("change", SCANNED_OTHERWISE)
def test_what_changes_a_scan_changes_the_hash(change: str) -> None:
    assert snapshot_hash([replace(SALES, **SCANNED_OTHERWISE[change]), SHOPS], SETTINGS) != HASH


@pytest.mark.parametrize("change", SCANNED_ALIKE)
def test_what_does_not_change_a_scan_keeps_the_hash(change: str) -> None:
    assert snapshot_hash([replace(SALES, **SCANNED_ALIKE[change]), SHOPS], SETTINGS) == HASH


def test_one_table_less_is_another_hash() -> None:
    assert len({HASH, snapshot_hash([SALES], SETTINGS), snapshot_hash([SHOPS], SETTINGS)}) == 3


@pytest.mark.parametrize("name", SCAN_SETTINGS)
def test_every_scan_setting_counts(name: str) -> None:
    assert snapshot_hash([SALES, SHOPS], {**SETTINGS, name: "changed"}) != HASH


def test_other_settings_do_not_count() -> None:
    assert snapshot_hash([SALES, SHOPS], {**SETTINGS, "spark.sql.shuffle.partitions": "8", "a.secret": "x"}) == HASH


@pytest.mark.parametrize("name", SCAN_PROPERTIES)
def test_every_scan_property_counts(name: str) -> None:
    changed = {**dict(SALES.properties), name: "changed"}
    assert snapshot_hash([replace(SALES, properties=tuple(sorted(changed.items()))), SHOPS], SETTINGS) != HASH


@settings(deadline=None)
@given(
    tables=st.permutations([SALES, SHOPS]),
    conf=st.permutations(sorted(SETTINGS.items())),
    properties=st.permutations(SALES.properties),
    features=st.permutations(["deletionVectors", "columnMapping"]),
)
def test_no_order_of_things_without_one_shows(
    tables: list[TableFacts],
    conf: list[tuple[str, str]],
    properties: list[tuple[str, str]],
    features: list[str],
) -> None:
    protocol = Protocol.of(3, 7, features, [*features, "appendOnly"])
    shuffled = [replace(t, properties=tuple(properties), protocol=protocol) if t.name == "sales" else t for t in tables]
    assert snapshot_hash(shuffled, dict(conf)) == HASH


def test_the_hash_is_the_same_in_any_process() -> None:
    code = (
        "from planopt_tests.model.test_table_facts import *\n"
        "print(snapshot_hash([SHOPS, SALES], SETTINGS), Protocol.of(2, 6).features)"
    )
    assert {output_of(code, hash_seed=seed) for seed in (1, 2)} == {f"{HASH} {Protocol.of(2, 6).features}\n"}


# Protocol

LEGACY_WRITERS = ["appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns"]


@pytest.mark.parametrize(
    ("reader", "writer", "readers", "writers"),
    [
        (1, 1, [], []),
        (1, 2, [], LEGACY_WRITERS[:2]),
        (1, 3, [], LEGACY_WRITERS[:3]),
        (1, 4, [], LEGACY_WRITERS),
        (2, 5, ["columnMapping"], [*LEGACY_WRITERS, "columnMapping"]),
        (2, 6, ["columnMapping"], [*LEGACY_WRITERS, "columnMapping", "identityColumns"]),
    ],
)
def test_a_version_number_implies_features(reader: int, writer: int, readers: list[str], writers: list[str]) -> None:
    assert Protocol.of(reader, writer) == Protocol(reader, writer, tuple(sorted(readers)), tuple(sorted(writers)))


def test_a_table_that_names_its_features_has_no_others() -> None:
    assert Protocol.of(3, 7) == Protocol(3, 7, (), ())
    for order in permutations(["b", "a", "c"]):
        assert Protocol.of(3, 7, order[:2], order).features == ("a", "b", "c")
