"""YAML text to ruamel.yaml's node tree, within limits; nothing is constructed here, so no tag can run anything."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from planopt_assets.errors import FileNotText, MalformedYaml, WorkloadError, YamlFeatureNotAllowed, YamlTooComplex
from planopt_assets.workload.mistakes import Place
from planopt_assets.workload.read import position_after

MAX_DEPTH = 16  # the format itself needs 5
MAX_VALUES = 100_000  # after aliases are expanded: nine lines of aliases can stand for a billion values

# What YAML 1.2 calls printable; ruamel.yaml refuses the rest as well, but without a line and a column.
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Composed:
    """The root node (None: an empty file), the explicit tag of each node by `id`, and what makes scalars of text."""

    root: Any
    tags: dict[int, str]
    constructor: Any


class Refused(Exception):
    """There is no tree to go on with, for the reason given; `parse` turns it into the mistake."""

    def __init__(self, kind: type[WorkloadError], place: Place, what: str, fix: str) -> None:
        super().__init__(what)
        self.kind = kind
        self.place = place
        self.what = what
        self.fix = fix


def compose(text: str) -> Composed:
    """Compose the one document of the text.

    >>> compose("a: !!int 1").root.value[0][1].value
    '1'
    """
    if (match := _UNPRINTABLE.search(text)) is not None:
        what = f"the file holds the character U+{ord(match.group()):04X}"
        raise Refused(FileNotText, Place(*position_after(text[: match.start()])), what, "remove that character")
    # The C parser recurses on the C stack; the Python one can be stopped at any depth.
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer = _Composer
    try:
        root = yaml.compose(text)
    except MarkedYAMLError as error:
        parts = ", ".join(str(part) for part in (error.context, error.problem) if part)
        raise _malformed(place_of(error.problem_mark or error.context_mark), " ".join(parts.split())) from error
    except (YAMLError, ValueError, OverflowError) as error:
        # ruamel.yaml hands some escapes to chr() and decode() unchecked: "\UFFFFFFFF", the tag `!%FF`.
        raise _malformed(Place(1, 1), "an escape stands for no character") from error
    return Composed(root, yaml.composer.tags, yaml.constructor)


def place_of(mark: Any) -> Place:
    return Place(mark.line + 1, mark.column + 1) if mark is not None else Place(1, 1)


def check_limits(depth: int, count: int, mark: Any) -> None:
    """Stop at a tree that is deeper or larger than any workload, with an alias inside itself as the extreme case."""
    fix = "write it flatter, with fewer aliases, or split the workload into several files"
    if depth > MAX_DEPTH:
        raise Refused(YamlTooComplex, place_of(mark), f"the YAML is nested deeper than {MAX_DEPTH} levels", fix)
    if count > MAX_VALUES:
        what = f"the YAML has more than {MAX_VALUES} values, those that aliases repeat included"
        raise Refused(YamlTooComplex, place_of(mark), what, fix)


def _malformed(place: Place, reason: str) -> Refused:
    fix = "correct the YAML at this place; usual causes are a tab, the indentation, a missing quote"
    return Refused(MalformedYaml, place, f"not valid YAML: {reason}", fix)


class _Composer(Composer):
    """Counts as it goes, and remembers explicit tags, which a node does not tell from those implied by its text."""

    def __init__(self, loader: Any = None) -> None:
        super().__init__(loader=loader)
        self.levels = 0
        self.count = 0
        self.tags: dict[int, str] = {}

    def compose_document(self) -> Any:
        event = self.parser.peek_event()
        if event.tags or (event.version is not None and tuple(event.version) != (1, 2)):
            what, fix = "a YAML directive above this line is not allowed", "remove the lines that start with `%`"
            raise Refused(YamlFeatureNotAllowed, place_of(event.start_mark), what, fix)
        return super().compose_document()

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.parser.peek_event()
        self.levels += 1
        self.count += 1
        check_limits(self.levels, self.count, event.start_mark)
        is_alias = not hasattr(event, "ctag")
        if not is_alias and event.anchor in self.anchors:
            raise _malformed(place_of(event.start_mark), "the anchor that starts here with `&` is defined twice")
        if is_alias and event.anchor not in self.anchors:
            # Not named: it may be a password that nobody quoted.
            what = "a value that starts with `*` is a YAML alias, and nothing has that name; quote it if it is text"
            raise _malformed(place_of(event.start_mark), what)
        node = super().compose_node(parent, index)
        if not is_alias and event.ctag is not None:
            self.tags[id(node)] = str(event.ctag)
        self.levels -= 1
        return node
