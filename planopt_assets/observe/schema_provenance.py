"""The schemas a query stands between: what it reads, where each schema comes from, and what it returns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from planopt_assets.model.table_facts import TableFacts

ColumnOf = tuple[str, str, bool]  # name, type, nullable
Source = Literal["table", "view", "inferred", "declared"]


@dataclass(frozen=True, slots=True)
class InputSchema:
    """One relation a query reads; `source` says who vouches for the schema.

    `table`: the Delta log. `view`: a stored query over tables. `inferred`: guessed from values, as of `VALUES` or a
    local frame. `declared`: written down by whoever wrote the query.
    """

    relation: str
    source: Source
    columns: tuple[ColumnOf, ...]

    @classmethod
    def of_table(cls, table: TableFacts) -> InputSchema:
        return cls(table.name, "table", tuple((c.name, c.type, c.nullable) for c in table.columns))


def schema_provenance(inputs: Iterable[InputSchema], output: Sequence[ColumnOf]) -> list[dict[str, Any]]:
    """One row for each column: inputs by name, columns in their order, then what the query returns.

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
