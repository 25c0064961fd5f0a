"""Errors of the store, planopt's own tables: PLN-3xx."""

from __future__ import annotations

from planopt_assets.errors.base import PlanoptError


class StoreUnreadable(PlanoptError):
    """A table of the store is damaged, or is not a table of planopt."""

    code = "PLN-301"


class StoreUnreachable(StoreUnreadable):
    """The object storage of the store did not answer, or refused to. Nothing is known to be wrong with the store."""

    code = "PLN-309"


class StoreTooNew(PlanoptError):
    """The store was written by a newer planopt."""

    code = "PLN-302"


class StoreWriteFailed(PlanoptError):
    """Rows could not be appended. No part of the commit is visible."""

    code = "PLN-303"


class RowNotFound(PlanoptError):
    """No stored row has this id."""

    code = "PLN-304"


class NothingToAccept(PlanoptError):
    """A query has no captured plan that could be accepted."""

    code = "PLN-305"


class StoreTooSlow(PlanoptError):
    """The store did not answer within the time limit of a user's job."""

    code = "PLN-306"


class NativeUnusable(PlanoptError):
    """A native library gave up (a panic is no `Exception` in Python), or cannot work in a forked process."""

    code = "PLN-308"

    @classmethod
    def by(cls, panic: BaseException) -> NativeUnusable:
        """
        >>> print(NativeUnusable.by(SystemExit("Forked process detected")))
        PLN-308 native library: SystemExit: Forked process detected. Fix: start worker processes with `spawn` or \
`forkserver` instead of `fork`, or report it
        """
        said = f"{type(panic).__name__}: {str(panic).strip().partition(chr(10))[0][:300]}"
        fix = "start worker processes with `spawn` or `forkserver` instead of `fork`, or report it"
        return cls(said, where="native library", fix=fix)


def is_panic(error: BaseException) -> bool:
    """Whether this is the panic of a Rust library: a `BaseException` whose class nobody can import."""
    return type(error).__name__ == "PanicException"


class RowDamaged(PlanoptError):
    """A stored row has a field that planopt did not write so. `query_id` is empty where the row does not tell it.

    >>> print(RowDamaged("it is null", table="verdicts", column="policy", query_id="daily", run_id="r1"))
    PLN-307 query daily: column policy of table verdicts, stored by run r1: it is null. Fix: run `planopt \
repair`, which leaves out a file that is not as it was written. If it finds no damage, delete the row: what it said is \
then found out again
    """

    code = "PLN-307"

    def __init__(self, why: str, *, table: str, column: str, query_id: str = "", run_id: str = "") -> None:
        self.table, self.column, self.query_id, self.run_id = table, column, query_id, run_id
        by = f", stored by run {run_id}" if run_id else ""
        super().__init__(
            f"column {column} of table {table}{by}: {why}",
            where=f"query {query_id}" if query_id else f"a row of table {table}",
            fix="run `planopt repair`, which leaves out a file that is not as it was written. If it finds no damage, "
            "delete the row: what it said is then found out again",
        )

    def facts(self) -> dict[str, str]:
        place = {"table": self.table, "column": self.column, "query": self.query_id, "run": self.run_id}
        return super().facts() | place
