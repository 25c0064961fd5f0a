"""Mistakes in a workload file: PLN-0xx, each with its line and column."""

from __future__ import annotations

from typing import ClassVar

from planopt_assets.errors.base import PlanoptError


class WorkloadError(PlanoptError):
    """One mistake in the workload file. `line` and `column` count from 1; 0 means the whole file.

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
    """The workload file is missing or cannot be read."""

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
    """The file uses a YAML tag (`!!python/…`), a merge key (`<<`) or a directive. Only plain data is allowed."""

    code = "PLN-006"


class UnknownField(WorkloadError):
    """A field has a name that planopt does not know here."""

    code = "PLN-007"


class WrongValue(WorkloadError):
    """A field, a name or a list has a value of the wrong type or outside its range."""

    code = "PLN-008"


class MissingField(WorkloadError):
    """A field without a default is missing."""

    code = "PLN-009"


class DuplicateQueryId(WorkloadError):
    """Two queries have the same id."""

    code = "PLN-010"


class SqlFileUnreadable(WorkloadError):
    """An SQL file is missing, not a local regular file, not UTF-8 text, empty, or larger than 64 MiB."""

    code = "PLN-011"


class PathOutsideFolder(WorkloadError):
    """A path, with symbolic links resolved, lies outside the workload file's folder and every declared root."""

    code = "PLN-012"


class UnsupportedVersion(WorkloadError):
    """The file is written for another version of the workload format."""

    code = "PLN-013"


class PythonNotAllowed(WorkloadError):
    """A query is a Python callable, but the file has no `allow_python: true`."""

    code = "PLN-014"


class DuplicateTable(WorkloadError):
    """Two table names differ only in case. Spark cannot tell them apart."""

    code = "PLN-015"


class YamlTooComplex(WorkloadError):
    """The YAML is nested too deeply, or has too many values after its aliases are expanded."""

    code = "PLN-016"


class NotExactlyOne(WorkloadError):
    """Exactly one is needed: `sql`, `sql_file` or `python`; `path` or `catalog`; `url` or `url_env`."""

    code = "PLN-017"


class BindingsDiffer(WorkloadError):
    """The bindings of one query do not all have the same parameter names."""

    code = "PLN-018"


class KnobConflict(WorkloadError):
    """A knob is denied, but also allowed or pinned."""

    code = "PLN-019"


class StoreOverlapsTable(WorkloadError):
    """The store lies inside a table's folder, or a table inside the store."""

    code = "PLN-020"


class DuplicateDestination(WorkloadError):
    """Two destinations of alerts have the same name."""

    code = "PLN-021"


class WorkloadErrors(PlanoptError):
    """Several mistakes in one workload file. The message has one line for each."""

    code = "PLN-099"
    shown: ClassVar[int] = 50  # a longer message would push its first line off the screen

    def __init__(self, errors: tuple[WorkloadError, ...]) -> None:
        self.errors = errors
        super().__init__(f"{len(errors)} mistakes", where=errors[0].file, fix="correct each of them")

    def __str__(self) -> str:
        lines = [str(error) for error in self.errors[: self.shown]]
        rest = len(self.errors) - len(lines)
        return "\n".join([*lines, f"… and {rest} more"] if rest else lines)
