"""The input schemas of a query, the source of each, and the schema of its result."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from planopt_assets.model.table_facts import TableFacts
from planopt_assets.observe.plans.plan_json import Flat, Json, expressions, kind_of

ColumnOf = tuple[str, str, bool]  # name, type, nullable
Source = Literal["table", "view", "inferred", "declared"]


@dataclass(frozen=True, slots=True)
class InputSchema:
    """One relation that a query reads. `source` says where its schema comes from.

    `table`: the Delta log. `view`: a stored query over tables. `inferred`: derived from values, as for `VALUES` or a
    local frame. `declared`: fixed beforehand, as for `range`.
    """

    relation: str
    source: Source
    columns: tuple[ColumnOf, ...]

    @classmethod
    def of_table(cls, table: TableFacts) -> InputSchema:
        return cls(table.name, "table", tuple((c.name, c.type, c.nullable) for c in table.columns))


def inline_inputs(analyzed: Flat, tables: Collection[str]) -> Iterator[InputSchema]:
    """What a query reads besides registered tables: inline values, ranges and views, in order of appearance.

    For Spark, a registered table is a view of that name. Those views are omitted.
    """
    number = 0
    for node in _all_nodes(analyzed):
        kind = kind_of(node)
        if kind in ("LocalRelation", "Range"):
            number += 1
            columns = tuple(_column(e[0]) for e in expressions(node["output"]))
            yield InputSchema(f"inline {number}", "inferred" if kind == "LocalRelation" else "declared", columns)
        elif kind == "View" and (name := str(node["desc"]["identifier"]["table"])) not in tables:
            fields = node["desc"]["schema"]["fields"]
            yield InputSchema(name, "view", tuple((f["name"], _type(f["type"]), f["nullable"]) for f in fields))


def _all_nodes(flat: Flat) -> Iterator[Json]:
    """Every operator, also those of sub-queries."""
    for node in flat:
        if "num-children" in node:
            yield node
        for value in node.values():
            for inner in expressions(value):
                yield from (n for e in inner for n in _all_nodes(e.get("plan") or ()))


def _column(attribute: Json) -> ColumnOf:
    return attribute["name"], _type(attribute["dataType"]), bool(attribute["nullable"])


def _type(written: Any) -> str:
    return written if isinstance(written, str) else json.dumps(written, sort_keys=True)


def schema_provenance(inputs: Iterable[InputSchema], output: Sequence[ColumnOf]) -> list[dict[str, Any]]:
    """One row per column: inputs by name with their columns in order, then the columns of the result.

    >>> shops = InputSchema("shops", "table", (("id", "long", False),))
    >>> for row in schema_provenance([shops], [("n", "long", False)]):
    ...     print(*row.values())
    input shops table 0 id long False
    output  analysed_plan 0 n long False
    """
    ordered = sorted(inputs, key=lambda schema: (schema.relation, schema.source))
    sides = [("input", s.relation, str(s.source), s.columns) for s in ordered]
    return [
        {
            "side": side,
            "relation": relation,
            "source": source,
            "position": position,
            "column": name,
            "type": kind,
            "nullable": nullable,
        }
        for side, relation, source, columns in [*sides, ("output", "", "analysed_plan", tuple(output))]
        for position, (name, kind, nullable) in enumerate(columns)
    ]
