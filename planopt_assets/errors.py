"""Every error planopt raises on purpose: a stable code, the facts as attributes, and what to do next.

PLN-0xx  workload file        PLN-1xx  SQL gate          PLN-2xx  Spark, Java, tables
PLN-3xx  store                PLN-4xx  promotion         PLN-5xx  command line and Dagster
"""

from __future__ import annotations

from typing import ClassVar

from planopt_assets.redaction import redact


class PlanoptError(Exception):
    """A failure planopt understands: `what` went wrong, `where`, and the `fix`.

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
        """The error as one flat object, for `--json` and for Dagster metadata."""
        return {"code": self.code, "where": self.where, "what": self.what, "fix": self.fix}


# Spark, Java, tables


class JarsMissing(PlanoptError):
    """The Delta jars Spark needs are not on this machine, or not all of them."""

    code = "PLN-201"


class JavaMissing(PlanoptError):
    """No Java on this machine: neither in JAVA_HOME nor on the PATH."""

    code = "PLN-202"


class JavaTooOld(PlanoptError):
    """A Java is there, but Spark needs a newer one."""

    code = "PLN-203"


# workload file


class WorkloadError(PlanoptError):
    """One mistake in the workload file, at a `line` and `column` counted from 1 (0: the file as a whole).

    >>> print(MissingField("`name` is missing", file="planopt.yaml", line=1, column=1, fix="add `name`"))
    PLN-009 planopt.yaml:1:1: `name` is missing. Fix: add `name`
    """

    def __init__(self, what: str, *, file: str, line: int = 0, column: int = 0, nearest: str = "", fix: str) -> None:
        self.file = file
        self.line = line
        self.column = column
        self.nearest = nearest
        super().__init__(what, where=f"{file}:{line}:{column}" if line else file, fix=fix)

    def facts(self) -> dict[str, str]:
        place = {"file": self.file, "line": str(self.line), "column": str(self.column)}
        return super().facts() | place | {"nearest": self.nearest}


class FileUnreadable(WorkloadError):
    """The workload file is not there, or cannot be read."""

    code = "PLN-001"


class FileNotText(WorkloadError):
    """The workload file is not UTF-8, or holds a NUL or another character that is not text."""

    code = "PLN-002"


class FileTooLarge(WorkloadError):
    """The workload file is larger than 1 MiB."""

    code = "PLN-003"


class MalformedYaml(WorkloadError):
    """The workload file is not one well-formed YAML document."""

    code = "PLN-004"


class DuplicateKey(WorkloadError):
    """A mapping has the same key twice."""

    code = "PLN-005"


class YamlFeatureNotAllowed(WorkloadError):
    """The file uses a YAML tag (`!!python/…`), a merge key (`<<`) or a directive; it may hold plain data only."""

    code = "PLN-006"


class UnknownField(WorkloadError):
    """A field has a name that planopt does not know here."""

    code = "PLN-007"


class WrongValue(WorkloadError):
    """A field, a name or a list has a value of the wrong type or outside its range."""

    code = "PLN-008"


class MissingField(WorkloadError):
    """A field that has no default is not given."""

    code = "PLN-009"


class DuplicateQueryId(WorkloadError):
    """Two queries have the same id."""

    code = "PLN-010"


class SqlFileUnreadable(WorkloadError):
    """An SQL file is not there, not a local regular file, not UTF-8 text, empty, or larger than 1 MiB."""

    code = "PLN-011"


class PathOutsideFolder(WorkloadError):
    """A path, after its symbolic links are followed, leaves the workload file's folder and every declared root."""

    code = "PLN-012"


class UnsupportedVersion(WorkloadError):
    """The file is written for another version of the workload format."""

    code = "PLN-013"


class PythonNotAllowed(WorkloadError):
    """A query is a Python callable, and the file does not say `allow_python: true`."""

    code = "PLN-014"


class DuplicateTable(WorkloadError):
    """Two tables have names that differ only in case, which Spark cannot tell apart."""

    code = "PLN-015"


class YamlTooComplex(WorkloadError):
    """The YAML is nested too deep, or has too many values once its aliases are expanded."""

    code = "PLN-016"


class NotExactlyOne(WorkloadError):
    """A query needs exactly one of `sql`, `sql_file`, `python`; a table exactly one of `path`, `catalog`."""

    code = "PLN-017"


class BindingsDiffer(WorkloadError):
    """The bindings of one query do not all have the same parameter names."""

    code = "PLN-018"


class KnobConflict(WorkloadError):
    """A knob is denied, and allowed or pinned as well."""

    code = "PLN-019"


class StoreOverlapsTable(WorkloadError):
    """The store lies inside a table's folder, or a table inside the store."""

    code = "PLN-020"


class WorkloadErrors(PlanoptError):
    """Several mistakes in one workload file, all found in one reading; the message has one line for each."""

    code = "PLN-099"
    shown: ClassVar[int] = 50  # a message that fills the terminal hides its first line

    def __init__(self, errors: tuple[WorkloadError, ...]) -> None:
        self.errors = errors
        super().__init__(f"{len(errors)} mistakes", where=errors[0].file, fix="correct each of them")

    def __str__(self) -> str:
        lines = [str(error) for error in self.errors[: self.shown]]
        rest = len(self.errors) - len(lines)
        return "\n".join([*lines, f"… and {rest} more"] if rest else lines)


# session, tables, execution


class SessionMismatch(PlanoptError):
    """The process already holds a Spark session with other settings."""

    code = "PLN-204"


class SparkFailed(PlanoptError):
    """Spark did not start."""

    code = "PLN-205"


class TableUnreadable(PlanoptError):
    """A registered table is missing, is no Delta table, or has a damaged log."""

    code = "PLN-206"


class QueryFailed(PlanoptError):
    """Spark could not plan or run a query."""

    code = "PLN-207"


class QueryTimedOut(PlanoptError):
    """A query ran longer than it was given."""

    code = "PLN-208"


class KnobUnknown(PlanoptError):
    """The running Spark does not know a setting, or does not let a session change it."""

    code = "PLN-209"


class KnobMistyped(PlanoptError):
    """The running Spark holds a setting as another type than the knob catalogue says."""

    code = "PLN-219"


class CallableUnusable(PlanoptError):
    """A `python: module:callable` query cannot be imported or does not return a DataFrame."""

    code = "PLN-210"


class ExplainUnreadable(PlanoptError):
    """The text of a formatted plan is cut, ambiguous, or of a form planopt does not know."""

    code = "PLN-211"

    def __init__(self, what: str) -> None:
        super().__init__(
            what,
            where="formatted plan",
            fix="give the whole text as Spark made it, with the blank lines at its end, or capture the plan from Spark",
        )


class ProtocolUnsupported(PlanoptError):
    """A table needs a feature of the Delta protocol that this engine does not know."""

    code = "PLN-212"


class PolicyNotApplied(PlanoptError):
    """A hint or a rewrite of a policy finds nothing in the query that it could change."""

    code = "PLN-213"


class QueryHangs(QueryTimedOut):
    """A query ran longer than it was given and cannot be stopped; planopt went on without it."""

    code = "PLN-214"


# store


class StoreUnreadable(PlanoptError):
    """A table of the store is damaged or is not planopt's."""

    code = "PLN-301"


class StoreTooNew(PlanoptError):
    """The store was written by a newer planopt."""

    code = "PLN-302"


class StoreWriteFailed(PlanoptError):
    """Rows could not be appended; nothing of the commit is visible."""

    code = "PLN-303"


class RowNotFound(PlanoptError):
    """No stored row has this id."""

    code = "PLN-304"


class NothingToAccept(PlanoptError):
    """A query has no captured plan that could be accepted."""

    code = "PLN-305"


class StoreTooSlow(PlanoptError):
    """The store did not answer in the time a user's job can spare."""

    code = "PLN-306"


# promotion


class PromotionRefused(PlanoptError):
    """There is no accepted verdict for exactly this candidate on these inputs."""

    code = "PLN-401"


class PromotionConflict(PlanoptError):
    """Somebody else changed the active policy first."""

    code = "PLN-402"


class ChainBroken(PlanoptError):
    """The promotions of a query do not chain: a row was changed or is missing."""

    code = "PLN-403"


class VerdictStale(PlanoptError):
    """The verdict was given on other inputs, or a newer one of the same candidate speaks."""

    code = "PLN-404"


class PolicyFixed(PlanoptError):
    """A person pinned the policy, and automation does not override a person."""

    code = "PLN-405"


class VerdictSpent(PlanoptError):
    """The policy of this verdict was in force and was taken back since."""

    code = "PLN-406"


class NothingToChange(PlanoptError):
    """The policy asked for is in force already, or there is nothing to take back."""

    code = "PLN-407"


class PinRefused(PlanoptError):
    """A policy that may not be pinned: a setting outside the catalogue or its bounds, or a result that differs."""

    code = "PLN-408"


# command line and Dagster


class UnknownQuery(PlanoptError):
    """The workload has no query of this id."""

    code = "PLN-501"


class RunFailed(PlanoptError):
    """The Dagster run did not succeed."""

    code = "PLN-502"


class ToolMissing(PlanoptError):
    """A program planopt needs for this command is not installed."""

    code = "PLN-503"


class NotExportable(PlanoptError):
    """The policy in force cannot be written in the form asked for."""

    code = "PLN-504"


class NothingToRun(PlanoptError):
    """`tuned` was given neither a text nor a workload that has one for the query."""

    code = "PLN-505"


# SQL gate


class SqlRefused(PlanoptError):
    """A query has a part that planopt does not run; `part` is that part.

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
    """Spark cannot parse a query, at a `line` and `column` counted from 1 (0: the text as a whole).

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
