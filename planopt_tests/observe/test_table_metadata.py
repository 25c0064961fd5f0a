"""Facts from log actions: the cases that no table of the Spark tests has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planopt_assets.model.table_facts import Constraint, TableFacts
from planopt_assets.observe.tables.table_metadata import INDEXED_COLUMNS, dotted, table_facts, type_text

pytestmark = pytest.mark.fast

Json = dict[str, Any]


def field(name: str, kind: Any = "long", *, nullable: bool = True, **notes: Any) -> Json:
    return {"name": name, "type": kind, "nullable": nullable, "metadata": notes}


def struct(*fields: Json) -> Json:
    return {"type": "struct", "fields": list(fields)}


def facts(*fields: Json, domains: dict[str, str] | None = None, **metadata: Any) -> TableFacts:
    return table_facts(
        "t",
        "/t",
        0,
        protocol={"minReaderVersion": 1, "minWriterVersion": 2},
        metadata={"id": "x", "schemaString": json.dumps(struct(*fields)), **metadata},
        domains=domains or {},
        committed_at_ms=None,
        files=None,
        size=None,
    )


def test_an_invariant_of_old_tables_is_a_constraint() -> None:
    invariant = json.dumps({"expression": {"expression": "x > 3"}})
    inner = field("x", nullable=False, **{"delta.invariants": invariant})
    assert facts(field("s", struct(inner))).constraints == (
        Constraint("invariant", "s.x", "x > 3"),
        Constraint("not_null", "s.x", "IS NOT NULL"),
    )


def test_notes_inside_a_type_are_no_part_of_it() -> None:
    plain = struct(field("x"))
    noted = struct(field("x", **{"comment": "?", "delta.columnMapping.id": 3}))
    assert (
        type_text(plain)
        == type_text(noted)
        == '{"fields":[{"name":"x","nullable":true,"type":"long"}],"type":"struct"}'
    )
    assert type_text(struct(field("x", nullable=False))) != type_text(plain)


def test_a_struct_field_may_be_called_metadata() -> None:
    assert '"name":"metadata"' in type_text(struct(field("metadata")))


def test_statistics_stop_at_the_default_number_of_leaves() -> None:
    wide = [field(f"c{n}") for n in range(INDEXED_COLUMNS + 5)]
    assert facts(*wide).statistics_columns == tuple(f"c{n}" for n in range(INDEXED_COLUMNS))
    every = facts(*wide, configuration={"delta.dataSkippingNumIndexedCols": "-1"})
    assert len(every.statistics_columns) == INDEXED_COLUMNS + 5
    none = facts(*wide, configuration={"delta.dataSkippingNumIndexedCols": "0"})
    assert none.statistics_columns == ()


def test_named_statistics_columns_are_found_in_any_case_and_with_all_their_leaves() -> None:
    fields = [field("a"), field("S", struct(field("x"), field("y,z"))), field("a`b")]
    named = {"delta.dataSkippingStatsColumns": "s, `a``b`", "delta.dataSkippingNumIndexedCols": "1"}
    assert facts(*fields, configuration=named).statistics_columns == ("S.x", "S.`y,z`", "`a``b`")


def test_partition_columns_need_no_statistics() -> None:
    assert facts(field("a"), field("b"), partitionColumns=["a"]).statistics_columns == ("b",)


def test_clustering_by_a_column_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError):
        facts(field("a"), domains={"delta.clustering": '{"clusteringColumns":[["b"]]}'})


@pytest.mark.parametrize(
    ("path", "text"),
    [(("a", "b_1"), "a.b_1"), (("a.b",), "`a.b`"), (("1",), "`1`"), (("1a",), "1a"), (("é",), "`é`"), (("",), "``")],
)
def test_names_are_quoted_where_sql_needs_it(path: tuple[str, ...], text: str) -> None:
    assert dotted(path) == text
