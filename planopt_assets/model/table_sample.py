"""Rows drawn from a table's files, for columns that a layout may be sorted by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class TableSample:
    """Values by column, all of the same length; `file` is the path of the file that each row is from."""

    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    file: Sequence[str] = ()

    @property
    def rows(self) -> int:
        return len(self.file)
