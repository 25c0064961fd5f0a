"""YAML text to plain data with places, from ruamel.yaml's events; no tag is ever constructed, so none can run code."""

from __future__ import annotations

import datetime
from typing import Any, NoReturn

from ruamel.yaml import YAML, events
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.reader import ReaderError

from planopt_assets import errors
from planopt_assets.workload.files import position_after
from planopt_assets.workload.page import BROKEN, Loc, Page, Place, Plain, show

MAX_DEPTH = 16  # the format itself needs 5
MAX_VALUES = 100_000  # with repeated aliases counted: nine lines of aliases can stand for a billion values

_STANDARD_TAGS = ("bool", "float", "int", "map", "null", "seq", "set", "str", "timestamp")
_CONSTRUCTED = ("bool", "float", "int", "null", "timestamp")  # every other plain scalar is text
_END: Any = object()  # in place of a value: the list or the mapping ends here


def read_yaml(text: str, page: Page) -> None:
    """Fill the page from the one document of the text, whose top must be a mapping.

    >>> page = Page("planopt.yaml")
    >>> read_yaml("since: 1995-01-01\\nruns: 0x10", page)
    >>> page.data, page.value_place(("runs",))
    ({'since': '1995-01-01', 'runs': 16}, (2, 7))
    """
    data = _Reader(text, page).document()
    if data is BROKEN:
        raise page.error()
    if data is None:
        fix = "start with `version`, `name`, `tables` and `queries`"
        page.stop(errors.MissingField, (1, 1), "the file is empty", fix)
    if not isinstance(data, dict):
        what, fix = f"the file holds {show(data)}, not fields with values", "write lines of the form `field: value`"
        page.stop(errors.WrongValue, page.value_place(()), what, fix)
    page.data = data


class _Reader:
    """Reads events one by one; an alias is read by going back to the events of its anchor."""

    def __init__(self, text: str, page: Page) -> None:
        self.text, self.page = text, page
        self.yaml = YAML(typ="safe", pure=True)  # the C parser knows YAML 1.1 only
        self.coming = self.yaml.parse(text)
        self.events: list[Any] = []
        self.at = self.count = 0
        self.anchors: dict[str, int] = {}

    def take(self) -> tuple[Any, Place]:
        if self.at == len(self.events):
            self.events.append(self.parse_next())
        self.at += 1
        event = self.events[self.at - 1]
        return event, _place(event.start_mark)

    def parse_next(self) -> Any:
        try:
            return next(self.coming)
        except ReaderError as error:
            what = f"the file holds the character U+{int(error.character):04X}"
            place = position_after(self.text[: error.position])
            self.page.stop(errors.FileNotText, place, what, "remove that character")
        except MarkedYAMLError as error:
            parts = ", ".join(str(part) for part in (error.context, error.problem) if part)
            self.malformed(_place(error.problem_mark or error.context_mark), " ".join(parts.split()))
        except (ValueError, OverflowError):
            # ruamel.yaml hands some escapes to chr() and decode() unchecked: "\UFFFFFFFF", the tag `!%FF`.
            self.malformed((1, 1), "an escape stands for no character")

    def document(self) -> Plain:
        self.take()  # the start of the stream
        start, place = self.take()
        if isinstance(start, events.StreamEndEvent):
            return None
        if start.tags or (start.version is not None and tuple(start.version) != (1, 2)):
            what, fix = "a YAML directive above this line is not allowed", "remove the lines that start with `%`"
            self.page.stop(errors.YamlFeatureNotAllowed, place, what, fix)
        data = self.value(())
        self.take()  # the end of the document
        end, place = self.take()
        if not isinstance(end, events.StreamEndEvent):
            self.malformed(place, "a second document starts here")
        return data

    def value(self, loc: Loc) -> Plain:
        index = self.at
        event, place = self.take()
        if isinstance(event, events.CollectionEndEvent):
            return _END  # type: ignore[no-any-return]
        if isinstance(event, events.AliasEvent):
            if event.anchor not in self.anchors:
                # Not named: it may be a password that nobody quoted.
                what = "a value that starts with `*` is a YAML alias, and nothing has that name; quote it if it is text"
                self.malformed(place, what)
            self.at, back = self.anchors[event.anchor], self.at
            value = self.value(loc)
            self.at = back
            return value
        self.check_limits(loc, place)
        if event.anchor is not None and self.anchors.setdefault(event.anchor, index) != index:
            self.malformed(place, "the anchor that starts here with `&` is defined twice")
        self.page.values[loc] = place
        if isinstance(event, events.MappingStartEvent):
            value = self.mapping(loc)
        elif isinstance(event, events.SequenceStartEvent):
            value = self.sequence(loc)
        else:
            value = self.scalar(event, place)
            if event.start_mark.index == event.end_mark.index:
                # A value that is not there has the mark of whatever comes next, often lines below its key.
                self.page.values[loc] = self.page.keys.get(loc, place)
        if event.ctag is None:
            return value
        kind = str(event.ctag).removeprefix("tag:yaml.org,2002:")
        # Any other is not shown: it may be a password that nobody quoted.
        what = f"the tag `!!{kind}`" if kind in _STANDARD_TAGS else "a tag (it starts with `!`)"
        fix = "remove the tag; quote the value if it is text"
        self.page.report(errors.YamlFeatureNotAllowed, place, f"{what} is not allowed", fix)
        return BROKEN

    def sequence(self, loc: Loc) -> list[Plain]:
        items: list[Plain] = []
        while (item := self.value((*loc, len(items)))) is not _END:
            items.append(item)
        return items

    def mapping(self, loc: Loc) -> dict[str, Plain]:
        data: dict[str, Plain] = {}
        unkept = (*loc, "")
        while (key := self.value(unkept)) is not _END:
            place = self.page.values[unkept]
            if not isinstance(key, str) or key in ("", "<<"):
                self.page.excused.add(loc)
                self.report_key(key, place)
            elif key in data:
                what = f"the key {show(key)} is here twice; the first is on line {self.page.keys[*loc, key][0]}"
                self.page.report(errors.DuplicateKey, place, what, "keep one of the two")
            else:
                self.page.keys[*loc, key] = place
                data[key] = self.value((*loc, key))
                continue
            self.value(unkept)
        return data

    def report_key(self, key: Plain, place: Place) -> None:
        if key == "<<":
            fix = "repeat the fields, or use an alias for a whole value"
            self.page.report(errors.YamlFeatureNotAllowed, place, "the merge key `<<` is not allowed", fix)
        elif key is not BROKEN:
            what, fix = f"a key is {show(key)}, not text", "write a name, or quote the key"
            self.page.report(errors.WrongValue, place, what, fix)

    def scalar(self, event: Any, place: Place) -> Plain:
        text: str = event.value
        tag = self.yaml.resolver.resolve(ScalarNode, text, event.implicit)
        kind = str(tag).rpartition(":")[2]
        if kind in _CONSTRUCTED:
            try:
                value = self.yaml.constructor.construct_object(ScalarNode(tag, text))
                return value.isoformat() if isinstance(value, datetime.date) else value
            except (ValueError, OverflowError):
                what = f"{show(text)} has the form of a {'date' if kind == 'timestamp' else 'number'}, but is none"
                self.page.report(errors.WrongValue, place, what, "correct it, or quote it to keep it as text")
                return BROKEN
        if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
            what = "an escape in this text stands for NUL or for half a character"
            self.page.report(errors.FileNotText, place, what, "remove the escape")
            return BROKEN
        return text

    def check_limits(self, loc: Loc, place: Place) -> None:
        """Stop at data that is deeper or larger than any workload; the extreme case is an alias inside itself."""
        self.count += 1
        fix = "write it flatter, with fewer aliases, or split the workload into several files"
        if len(loc) >= MAX_DEPTH:
            self.page.stop(errors.YamlTooComplex, place, f"the YAML is nested deeper than {MAX_DEPTH} levels", fix)
        if self.count > MAX_VALUES:
            what = f"the YAML has more than {MAX_VALUES} values, those that aliases repeat included"
            self.page.stop(errors.YamlTooComplex, place, what, fix)

    def malformed(self, place: Place, reason: str) -> NoReturn:
        fix = "correct the YAML at this place; usual causes are a tab, the indentation, a missing quote"
        self.page.stop(errors.MalformedYaml, place, f"not valid YAML: {reason}", fix)


def _place(mark: Any) -> Place:
    return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
