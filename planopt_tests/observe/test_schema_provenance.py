"""Schemas beside their source: one row a column."""

from __future__ import annotations

import pytest

from planopt_assets.model.table_facts import Column, Protocol, TableFacts
from planopt_assets.observe.tables.schema_provenance import InputSchema, inline_inputs, schema_provenance

pytestmark = pytest.mark.fast

SHOPS = TableFacts(
    "shops", "/s", "x", 0, Protocol.of(1, 2), (Column("id", "long", nullable=False), Column("city", "string"))
)


def test_inputs_come_by_name_columns_in_their_order_and_the_output_last() -> None:
    values = InputSchema("VALUES", "inferred", (("col1", "integer", False),))
    recent = InputSchema("recent", "view", (("day", "date", True),))
    rows = schema_provenance([InputSchema.of_table(SHOPS), recent, values], [("n", "long", False), ("m", "date", True)])
    assert [tuple(row.values()) for row in rows] == [
        ("input", "VALUES", "inferred", 0, "col1", "integer", False),
        ("input", "recent", "view", 0, "day", "date", True),
        ("input", "shops", "table", 0, "id", "long", False),
        ("input", "shops", "table", 1, "city", "string", True),
        ("output", "", "analysed_plan", 0, "n", "long", False),
        ("output", "", "analysed_plan", 1, "m", "date", True),
    ]


def test_the_order_of_inputs_does_not_show() -> None:
    inputs = [InputSchema.of_table(SHOPS), InputSchema("recent", "view", (("day", "date", True),))]
    assert schema_provenance(inputs, []) == schema_provenance(inputs[::-1], [])


def _node(kind: str, children: int = 0, **fields: object) -> dict[str, object]:
    return {"class": f"org.apache.spark.{kind}", "num-children": children, **fields}


def _attribute(name: str, kind: object) -> list[dict[str, object]]:
    return [_node("AttributeReference", name=name, dataType=kind, nullable=False)]


def test_values_ranges_and_views_are_told_apart_and_registered_tables_are_left_out() -> None:
    fields = [{"name": "day", "type": "date", "nullable": True}]
    plan = [
        _node("Join", 2),
        _node("View", 1, desc={"identifier": {"table": "recent"}, "schema": {"fields": fields}}),
        _node("View", 1, desc={"identifier": {"table": "shops"}, "schema": {"fields": fields}}),
        _node("LocalRelation", output=[_attribute("col1", "integer")]),
        _node("Range", output=[_attribute("id", "long")]),
    ]
    assert list(inline_inputs(plan, {"shops"})) == [
        InputSchema("recent", "view", (("day", "date", True),)),
        InputSchema("inline 1", "inferred", (("col1", "integer", False),)),
        InputSchema("inline 2", "declared", (("id", "long", False),)),
    ]


def test_values_in_a_sub_query_are_inputs_too() -> None:
    values = _node("LocalRelation", output=[_attribute("xs", {"type": "array", "elementType": "long"})])
    plan = [_node("Filter", 1, condition=[_node("ScalarSubquery", plan=[values])]), _node("OneRowRelation$")]
    (found,) = inline_inputs(plan, set())
    assert found.columns == (("xs", '{"elementType": "long", "type": "array"}', False),)
