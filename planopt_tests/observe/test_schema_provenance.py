"""Schemas beside their source: one row a column."""

from __future__ import annotations

import pytest

from planopt_assets.model.table_facts import Column, Protocol, TableFacts
from planopt_assets.observe.schema_provenance import InputSchema, schema_provenance

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
