"""The base class of all errors of planopt: a stable code, facts as attributes, and a fix."""

from __future__ import annotations

from typing import ClassVar

from planopt_assets.model.redaction import redact


class PlanoptError(Exception):
    """A known failure: `what` went wrong, `where`, and the `fix`.

    >>> print(PlanoptError("store is newer than this planopt", where="./store", fix="upgrade planopt"))
    PLN-000 ./store: store is newer than this planopt. Fix: upgrade planopt
    """

    code: ClassVar[str] = "PLN-000"

    def __init__(self, what: str, *, where: str = "", fix: str) -> None:
        self.what = redact(what)
        self.where = redact(where)
        self.fix = redact(fix)
        super().__init__(self.what)

    def __str__(self) -> str:
        place = f" {self.where}:" if self.where else ""
        return f"{self.code}{place} {self.what}. Fix: {self.fix}"

    def facts(self) -> dict[str, str]:
        """The error as a flat object, for `--json` and Dagster metadata."""
        return {"code": self.code, "where": self.where, "what": self.what, "fix": self.fix}
