"""Errors of the SQL gate: PLN-1xx."""

from __future__ import annotations

from planopt_assets.errors.base import PlanoptError
from planopt_assets.model.redaction import redact


class SqlRefused(PlanoptError):
    """A query has a part that planopt does not run. `part` names it.

    >>> print(SqlRefused("`INSERT` writes", query_id="daily", part="InsertIntoStatement"))
    PLN-101 query daily: `INSERT` writes. Fix: write it as one SELECT over registered tables with built-in functions
    """

    code = "PLN-101"

    def __init__(
        self,
        what: str,
        *,
        query_id: str,
        part: str,
        fix: str = "write it as one SELECT over registered tables with built-in functions",
    ) -> None:
        self.query_id = query_id
        self.part = redact(part)
        super().__init__(what, where=f"query {query_id}", fix=fix)

    def facts(self) -> dict[str, str]:
        return super().facts() | {"query": self.query_id, "part": self.part}


class SqlSyntax(PlanoptError):
    """Spark cannot parse a query. `line` and `column` count from 1; 0 means the whole text.

    >>> print(SqlSyntax("Syntax error at end of input", query_id="daily", line=3, column=7))
    PLN-102 query daily:3:7: Syntax error at end of input. Fix: correct the SQL text
    """

    code = "PLN-102"

    def __init__(
        self, what: str, *, query_id: str, line: int = 0, column: int = 0, fix: str = "correct the SQL text"
    ) -> None:
        self.query_id = query_id
        self.line = line
        self.column = column
        place = f"query {query_id}"
        super().__init__(what, where=f"{place}:{line}:{column}" if line else place, fix=fix)

    def facts(self) -> dict[str, str]:
        place = {"query": self.query_id, "line": str(self.line), "column": str(self.column)}
        return super().facts() | place


class SqlTooLarge(SqlRefused):
    """A constant in a query asks for more than planopt runs. `part` names what asks for it."""

    code = "PLN-103"

    def __init__(self, what: str, *, query_id: str, part: str) -> None:
        super().__init__(what, query_id=query_id, part=part, fix="write a smaller constant, or read it from a table")
