"""YAML text to a `Document`: plain data only, and the mistakes that are YAML's rather than the workload's."""

from __future__ import annotations

import datetime
from typing import Any

from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from planopt_assets.errors import (
    DuplicateKey,
    FileNotText,
    MissingField,
    WorkloadError,
    WrongValue,
    YamlFeatureNotAllowed,
)
from planopt_assets.workload.compose import Composed, Refused, check_limits, compose, place_of
from planopt_assets.workload.document import Document, Loc, Plain
from planopt_assets.workload.mistakes import Mistakes, Place, show

_STANDARD = tuple(f"!!{kind}" for kind in ("bool", "float", "int", "map", "null", "seq", "set", "str", "timestamp"))
_CONSTRUCTED = ("bool", "float", "int", "null", "timestamp")  # every other plain scalar is text


def parse(text: str, mistakes: Mistakes) -> Document:
    """Read one document whose top is a mapping; without one there is nothing to go on with, and the reading stops.

    >>> parse("since: 1995-01-01\\nruns: 0x10", Mistakes("planopt.yaml")).data
    {'since': '1995-01-01', 'runs': 16}
    """
    document = Document()
    try:
        composed = compose(text)
        data = _Builder(document, composed, mistakes).build(composed.root, ()) if composed.root is not None else None
    except Refused as refused:
        mistakes.add(refused.kind, refused.place, refused.what, fix=refused.fix)
        raise mistakes.error() from refused
    if isinstance(data, dict):
        document.data.update(data)
        return document
    if data is not None:
        what = f"the file holds {show(data)}, not fields with values"
        mistakes.add(WrongValue, document.value_place(()), what, fix="write lines of the form `field: value`")
    elif not document.broken:
        fix = "start with `version`, `name`, `tables` and `queries`"
        mistakes.add(MissingField, Place(1, 1), "the file is empty", fix=fix)
    raise mistakes.error()


class _Builder:
    """Turns nodes into plain data, notes their places in the document, and their mistakes."""

    def __init__(self, document: Document, composed: Composed, mistakes: Mistakes) -> None:
        self.document = document
        self.tags = composed.tags
        self.constructor = composed.constructor
        self.mistakes = mistakes
        self.count = 0

    def build(self, node: Any, loc: Loc) -> Plain:
        self.count += 1
        check_limits(len(loc) + 1, self.count, node.start_mark)
        # A value that is not there has the mark of whatever comes next, often lines below its key.
        missing = isinstance(node, ScalarNode) and node.start_mark.index == node.end_mark.index
        self.document.values[loc] = self.document.key_place(loc) if missing else place_of(node.start_mark)
        if self.has_tag(node):
            self.document.broken.add(loc)
            return None
        if isinstance(node, MappingNode):
            return self.mapping(node, loc)
        if isinstance(node, SequenceNode):
            return [self.build(item, (*loc, index)) for index, item in enumerate(node.value)]
        try:
            return self.scalar(node)
        except _NotAValue:
            self.document.broken.add(loc)
            return None

    def mapping(self, node: Any, loc: Loc) -> dict[str, Plain]:
        data: dict[str, Plain] = {}
        for key_node, value_node in node.value:
            try:
                key = self.key(key_node)
            except _NotAValue:
                self.document.incomplete.add(loc)
                continue
            here = (*loc, key)
            if key in data:
                what = f"the key {show(key)} is here twice; the first is on line {self.document.keys[here].line}"
                self.report(DuplicateKey, key_node, what, "keep one of the two")
                continue
            self.document.keys[here] = place_of(key_node.start_mark)
            data[key] = self.build(value_node, here)
        return data

    def key(self, node: Any) -> str:
        if self.has_tag(node):
            raise _NotAValue
        if node.tag == "tag:yaml.org,2002:merge":
            fix = "repeat the fields, or use an alias for a whole value"
            self.report(YamlFeatureNotAllowed, node, "the merge key `<<` is not allowed", fix)
            raise _NotAValue
        value = self.scalar(node) if isinstance(node, ScalarNode) else []
        if isinstance(value, str) and value:
            return value
        self.report(WrongValue, node, f"a key is {show(value)}, not text", "write a name, or quote the key")
        raise _NotAValue

    def scalar(self, node: Any) -> Plain:
        text: str = node.value
        kind = str(node.tag).rpartition(":")[2]
        if kind not in _CONSTRUCTED:
            if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
                what = "an escape in this text stands for NUL or for half a character"
                self.report(FileNotText, node, what, "remove the escape")
                raise _NotAValue
            return text
        try:
            value = self.constructor.construct_object(node)
        except (ValueError, OverflowError) as error:
            what = f"{show(text)} has the form of a {'date' if kind == 'timestamp' else 'number'}, but is none"
            self.report(WrongValue, node, what, "correct it, or quote it to keep it as text")
            raise _NotAValue from error
        plain: Plain = value.isoformat() if isinstance(value, datetime.date) else value
        return plain

    def has_tag(self, node: Any) -> bool:
        tag = self.tags.get(id(node))
        if tag is not None:
            fix = "remove the tag; quote the value if it is text"
            standard = tag.replace("tag:yaml.org,2002:", "!!", 1)
            # Any other is not shown: it may be a password that nobody quoted.
            tagged = f"the tag {show(standard)}" if standard in _STANDARD else "a tag (it starts with `!`)"
            self.report(YamlFeatureNotAllowed, node, f"{tagged} is not allowed", fix)
        return tag is not None

    def report(self, kind: type[WorkloadError], node: Any, what: str, fix: str) -> None:
        self.mistakes.add(kind, place_of(node.start_mark), what, fix=fix)


class _NotAValue(Exception):
    """The scalar was reported, and stands for nothing."""
