"""Which columns of which tables a query needs, and what each column of its result is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """`required` is every column that can change the result, by table; `outputs` has `table.column` for each column.

    `SELECT a FROM t WHERE b > 1` requires `a` and `b` of `t`; its output `a` comes from `t.a`. A table of which only
    the rows count is required without columns.
    """

    required: Mapping[str, tuple[str, ...]]
    outputs: tuple[tuple[str, tuple[str, ...]], ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data; outputs stay a list, since two columns of a result may have one name."""
        return {
            "required": {table: list(columns) for table, columns in self.required.items()},
            "outputs": [{"name": name, "from": list(origins)} for name, origins in self.outputs],
        }
