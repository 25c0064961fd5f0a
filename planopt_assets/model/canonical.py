"""A query in the one form that all its spellings share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Canonical:
    """`sql` gives the result of the original; two queries with one fingerprint are the same query.

    Where the text cannot be brought into canonical form, `form` is `analyzed_plan`, and `reason` says why.
    """

    form: Literal["sqlglot", "analyzed_plan"]
    sql: str
    fingerprint: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """One difference between two versions of a query: `predicate: l_quantity < 24 -> l_quantity < 25`."""

    kind: Literal["changed", "added", "removed", "moved"]
    part: str
    before: str
    after: str

    def __str__(self) -> str:
        if self.kind == "changed":
            return f"{self.part}: {self.before} -> {self.after}"
        return f"{self.part} {self.kind}: {self.after or self.before}"
