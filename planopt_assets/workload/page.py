"""The workload file as plain data with places, and the mistakes found in it so far."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import NoReturn, TypeAlias, cast

from planopt_assets.errors import WorkloadError, WorkloadErrors

Loc: TypeAlias = tuple[str | int, ...]  # ("queries", 0, "id")
Place: TypeAlias = tuple[int, int]  # line and column, both from 1
Plain: TypeAlias = "str | int | float | bool | list[Plain] | dict[str, Plain] | None"

MAX_SHOWN = 60
ANY = object()  # in `each`: every key, or every item
BROKEN = cast("Plain", object())  # stands for a value whose mistake is already reported


class Page:
    """One file: its data, the place of each key and value, and its mistakes.

    A field inside an `excused` mapping, or an `excused` field, is not reported as missing: a key there is misspelt
    or unreadable, and that is reported already.
    """

    def __init__(self, file: str, data: dict[str, Plain] | None = None) -> None:
        self.file = file
        self.data = data or {}
        self.keys: dict[Loc, Place] = {}
        self.values: dict[Loc, Place] = {}
        self.excused: set[Loc] = set()
        self.found: dict[str, WorkloadError] = {}

    def report(self, kind: type[WorkloadError], place: Place, what: str, fix: str, nearest: str = "") -> None:
        error = kind(what, file=self.file, line=place[0], column=place[1], nearest=nearest, fix=fix)
        # An anchored value is wrong once, however many aliases repeat it.
        self.found.setdefault(str(error), error)

    def stop(self, kind: type[WorkloadError], place: Place, what: str, fix: str) -> NoReturn:
        """Report a mistake after which the rest of the file cannot be judged."""
        self.report(kind, place, what, fix)
        raise self.error()

    def error(self) -> WorkloadError | WorkloadErrors:
        """The only mistake as itself, several as one `WorkloadErrors` in the order of the file."""
        found = sorted(self.found.values(), key=lambda error: (error.line, error.column))
        return found[0] if len(found) == 1 else WorkloadErrors(tuple(found))

    def value_place(self, loc: Loc) -> Place:
        """The place of the value, or of the nearest value around it that the file has."""
        while loc not in self.values and loc:
            loc = loc[:-1]
        return self.values.get(loc, (1, 1))

    def key_place(self, loc: Loc) -> Place:
        return self.keys.get(loc) or self.value_place(loc)

    def each(self, *pattern: object) -> Iterator[tuple[Loc, Plain]]:
        """Every part that matches the pattern, also if the rest of the file is wrong.

        >>> list(Page("f", {"queries": [{"id": "a"}, {}, 7, {"id": "b"}]}).each("queries", ANY, "id"))
        [(('queries', 0, 'id'), 'a'), (('queries', 3, 'id'), 'b')]
        """
        found: list[tuple[Loc, Plain]] = [((), self.data)]
        for step in pattern:
            found = [((*at, key), value) for at, part in found for key, value in _inside(part) if step in (ANY, key)]
        yield from found

    def texts(self, *pattern: object) -> Iterator[tuple[Loc, str]]:
        """The parts that are text and not empty; the models report the others."""
        return ((loc, value) for loc, value in self.each(*pattern) if isinstance(value, str) and value)


def _inside(part: Plain) -> Iterable[tuple[str | int, Plain]]:
    return part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()


def name_of(loc: Loc) -> str:
    """A place in the data the way people write it.

    >>> name_of(("queries", 1, "runs_per_day"))
    'queries[1].runs_per_day'
    """
    return "".join(f"[{part}]" if isinstance(part, int) else f".{show(part).strip('`')}" for part in loc).lstrip(".")


def nearest_of(name: str, names: Iterable[str]) -> str:
    """The one of `names` that `name` most likely meant, or "".

    >>> nearest_of("runs_per_dya", ["id", "runs_per_day"]), nearest_of("Mode", ["mode"]), nearest_of("x", ["id"])
    ('runs_per_day', 'mode', '')
    """
    by_folded = {each.casefold(): each for each in names}
    close = difflib.get_close_matches(name.casefold()[:200], by_folded, n=1)
    return by_folded[close[0]] if close else ""


def show(value: object) -> str:
    """A value as a one-line message may quote it: printable, and short.

    >>> show("two\\nlines"), show(-3), show(True), show(None), show([1])
    ('`two\\\\nlines`', '`-3`', '`true`', 'empty', 'a list')
    """
    if value is None or value == "":
        return "empty"
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and value.bit_length() > 256:
        return "a huge number"  # Python refuses to print one of several thousand digits
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    text = text[1:-1] if isinstance(value, str) else text
    return f"`{text}`" if len(text) <= MAX_SHOWN else f"`{text[: MAX_SHOWN - 1]}…`"
