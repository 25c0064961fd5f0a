"""The files a workload names: where paths may point, and what a text file must be."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

from planopt_assets import errors
from planopt_assets.workload.page import Place, nearest_of, show

MAX_BYTES = 1024 * 1024
MAX_SQL_BYTES = 64 * MAX_BYTES  # what is longer than a query may be concerns one query, not the whole file
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # two letters at least: `C:/` is a Windows drive


class Refused(ValueError):
    """Why a value was refused, with an error code of its own; pydantic adds where the value is."""

    def __init__(self, kind: type[errors.WorkloadError], what: str, fix: str, nearest: str = "") -> None:
        super().__init__(what)
        self.kind, self.what, self.fix, self.nearest = kind, what, fix, nearest


class Bounds:
    """The folder that relative paths start from, and the roots: every folder and URI that a path may be in.

    >>> bounds = Bounds("/w", ["s3://lake/sales"])
    >>> bounds.resolve("data/orders"), bounds.resolve("s3://lake/sales/orders/")
    ('/w/data/orders', 's3://lake/sales/orders')
    >>> bounds.resolve("s3://lake/sales_eu")
    Traceback (most recent call last):
    planopt_assets.workload.files.Refused: the path `s3://lake/sales_eu`: it is under none of the declared roots
    """

    def __init__(self, folder: str, roots: Iterable[str]) -> None:
        self.folder = folder
        self.roots = [folder]
        self.resolved: dict[str, str] = {}  # by the text in the file
        self.sql_files: list[str] = []  # those that were read
        for root in roots:
            with suppress(Refused):
                self.roots.append(self.locate(root))

    def resolve(self, text: str) -> str:
        """The absolute path, symbolic links followed, or the URI; both without a slash at the end."""
        place = self.locate(text)
        if any(_is_within(place, root) for root in self.roots):
            return self.resolved.setdefault(text, place)
        if _URI.match(place):
            why, fix = "it is under none of the declared roots", f"add `{place}`, or a parent of it, to `roots`"
            raise _outside(text, why, fix)
        fix = "move it into that folder, or add the folder it lies in to `roots`"
        raise _outside(text, "it leaves the folder of the workload file", fix)

    def locate(self, text: str) -> str:
        """The place that a text means, whether or not a path may point there."""
        if any(ord(char) < 32 or ord(char) == 127 for char in text):
            raise _outside(text, "it holds a control character", "remove that character")
        if text.startswith("~"):
            raise _outside(text, "`~` is not expanded", "write the folder out")
        if not _URI.match(text):
            return os.path.realpath(Path(self.folder) / text)
        scheme, rest = text.split(":", 1)
        if scheme.lower() == "file":
            raise _outside(text, "it is a `file:` URI", "write the plain path")
        if any(unquote(part) in (".", "..") for part in rest.split("/")):
            raise _outside(text, "a URI may not hold `.` or `..`", "write the URI without them")
        return f"{scheme.lower()}:{rest.rstrip('/')}"

    def overlap(self, one: str, other: str) -> bool:
        """Whether one of two resolved paths is the other, or is inside it."""
        places = [self.resolved[text] for text in (one, other) if text in self.resolved]
        return len(places) == 2 and (_is_within(*places) or _is_within(*reversed(places)))

    def read_sql(self, text: str) -> str:
        """The SQL in the file that a text names."""
        place = self.resolve(text)
        try:
            if _URI.match(place):
                raise _unreadable(place, "it is not a local file", "keep the SQL file beside the workload file")
            if not (sql := read_text(place, MAX_SQL_BYTES)).strip():
                raise _unreadable(place, "it is blank", "write the query into it")
            if "\0" in sql:
                line, fix = sql[: sql.index("\0")].count("\n") + 1, "remove that character"
                raise errors.FileNotText("it holds a NUL character", file=place, line=line, fix=fix)
        except errors.WorkloadError as error:
            what = f"the SQL file {show(text)}: {error.what}{f' on line {error.line}' if error.line else ''}"
            raise Refused(errors.SqlFileUnreadable, what, error.fix, error.nearest) from error
        self.sql_files.append(place)
        return sql


def read_text(path: str, at_most: int = MAX_BYTES) -> str:
    """The text of a regular file of so many bytes of UTF-8, without its byte order mark."""
    file = Path(path)
    try:
        if file.exists() and not file.is_file():  # opening a pipe or a device may wait for ever
            what = "it is a folder, not a file" if file.is_dir() else "it is not a regular file"
            raise _unreadable(path, what, "give the path of a regular file")
        with file.open("rb") as stream:
            data = stream.read(at_most + 1)
    except FileNotFoundError as error:
        # A typo is the most usual reason.
        nearest = nearest_of(file.name, [each.name for each in file.parent.glob("*") if each.is_file()])
        fix = f"write `{nearest}`, or create the file" if nearest else "check the path, or create the file"
        raise _unreadable(path, "there is no such file", fix, nearest) from error
    except OSError as error:
        what = f"it cannot be read ({(error.strerror or 'system error').lower()})"
        raise _unreadable(path, what, "check the path and its permissions") from error
    except ValueError as error:  # a NUL or a lone surrogate in the path
        raise _unreadable(path, "its path is not one a file can have", "give the path of the file") from error
    if len(data) > at_most:
        what = f"it is larger than {at_most // 1024**2} MiB"
        raise errors.FileTooLarge(what, file=path, fix="move long SQL into smaller files of its own")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = position_after(data[: error.start].decode("utf-8-sig"))
        what = f"it is not UTF-8 (byte {error.start})"
        raise errors.FileNotText(what, file=path, line=line, column=column, fix="save it as UTF-8") from error


def position_after(before: str) -> Place:
    """Line and column of what follows this text.

    >>> position_after("one\\ntwo")
    (2, 4)
    """
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _is_within(place: str, root: str) -> bool:
    separator = "/" if _URI.match(root) else os.sep
    return place == root or place.startswith(root.rstrip(separator) + separator)


def _outside(text: str, why: str, fix: str) -> Refused:
    return Refused(errors.PathOutsideFolder, f"the path {show(text)}: {why}", fix)


def _unreadable(path: str, what: str, fix: str, nearest: str = "") -> errors.FileUnreadable:
    return errors.FileUnreadable(what, file=path, fix=fix, nearest=nearest)
