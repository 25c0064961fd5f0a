"""Mistakes in a workload file, gathered so that one reading reports all of them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from planopt_assets.errors import WorkloadError, WorkloadErrors

MAX_SHOWN = 60


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line and a column of the file, both from 1."""

    line: int
    column: int


class Mistakes:
    """The mistakes found so far in one file; `raise_all` ends the reading if there is one.

    >>> from planopt_assets.errors import MissingField
    >>> mistakes = Mistakes("planopt.yaml")
    >>> mistakes.add(MissingField, Place(1, 1), "`name` is missing", fix="add `name`")
    >>> mistakes.raise_all()
    Traceback (most recent call last):
    planopt_assets.errors.workload.MissingField: PLN-009 planopt.yaml:1:1: `name` is missing. Fix: add `name`
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self._found: dict[str, WorkloadError] = {}

    def add(self, kind: type[WorkloadError], place: Place, what: str, *, fix: str, nearest: str = "") -> None:
        error = kind(what, file=self.file, line=place.line, column=place.column, nearest=nearest, fix=fix)
        # An anchored value is wrong once, however many aliases repeat it.
        self._found.setdefault(str(error), error)

    def raise_all(self) -> None:
        if self._found:
            raise self.error()

    def error(self) -> WorkloadError | WorkloadErrors:
        """The only mistake as itself, several as one `WorkloadErrors` in the order of the file."""
        found = sorted(self._found.values(), key=lambda error: (error.line, error.column))
        return found[0] if len(found) == 1 else WorkloadErrors(tuple(found))


def nearest_of(name: str, names: Iterable[str]) -> str:
    """The one of `names` that `name` most likely meant, or "".

    >>> nearest_of("runs_per_dya", ["id", "runs_per_day"]), nearest_of("Mode", ["mode"]), nearest_of("x", ["id"])
    ('runs_per_day', 'mode', '')
    """
    by_folded = {each.casefold(): each for each in names}
    close = difflib.get_close_matches(name.casefold()[:200], by_folded, n=1)
    return by_folded[close[0]] if close else ""


def show(value: object) -> str:
    """A value as it may stand inside a one-line message: quoted, printable, and short.

    >>> show("two\\nlines"), show(-3), show(True), show(None), show([1])
    ('`two\\\\nlines`', '`-3`', '`true`', 'empty', 'a list')
    """
    if value is None or value == "":
        return "empty"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return f"`{value}`".lower()
    if isinstance(value, int) and value.bit_length() > 256:
        return "a huge number"  # Python refuses to print one of several thousand digits
    text = repr(value)[1:-1] if isinstance(value, str) else repr(value)
    return f"`{text}`" if len(text) <= MAX_SHOWN else f"`{text[: MAX_SHOWN - 1]}…`"
