"""Plain data in which every key and every value knows its line and column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from planopt_assets.workload.mistakes import Place

Loc: TypeAlias = tuple[str | int, ...]  # ("queries", 0, "id")
Plain: TypeAlias = "str | int | float | bool | list[Plain] | dict[str, Plain] | None"

ANY = object()  # in `each`: every key, or every item


@dataclass(frozen=True, slots=True)
class Document:
    """The data of one YAML document and where each part of it stands.

    What was reported while it was built is not to be reported again as something else: a `broken` value has None in
    its place, and a mapping that is `incomplete` has lost a key.

    >>> document = Document({"tables": {"a": "x"}}, keys={("tables",): Place(1, 1)}, values={("tables",): Place(1, 9)})
    >>> document.key_place(("tables",)).column, document.value_place(("tables", "a")).column
    (1, 9)
    """

    data: dict[str, Plain] = field(default_factory=dict)
    keys: dict[Loc, Place] = field(default_factory=dict)
    values: dict[Loc, Place] = field(default_factory=dict)
    broken: set[Loc] = field(default_factory=set)
    incomplete: set[Loc] = field(default_factory=set)

    def value_place(self, loc: Loc) -> Place:
        """Where the value stands, or the nearest thing around it that does stand in the file."""
        while loc not in self.values and loc:
            loc = loc[:-1]
        return self.values.get(loc, Place(1, 1))

    def key_place(self, loc: Loc) -> Place:
        return self.keys.get(loc) or self.value_place(loc)

    def is_broken(self, loc: Loc) -> bool:
        return any(loc[:end] in self.broken for end in range(len(loc) + 1))

    def each(self, *pattern: object) -> Iterator[tuple[Loc, Plain]]:
        """Every part that the pattern leads to, however wrong the rest of the file may be.

        >>> list(Document({"queries": [{"id": "a"}, {}, 7, {"id": "b"}]}).each("queries", ANY, "id"))
        [(('queries', 0, 'id'), 'a'), (('queries', 3, 'id'), 'b')]
        """
        found: list[tuple[Loc, Plain]] = [((), self.data)]
        for step in pattern:
            found = [
                ((*loc, key), value)
                for loc, parent in found
                for key, value in children(parent)
                if step is ANY or key == step
            ]
        yield from found

    def texts(self, *pattern: object) -> Iterator[tuple[Loc, str]]:
        """The parts that are text and not empty; the others are a matter of their type."""
        for loc, value in self.each(*pattern):
            if isinstance(value, str) and value:
                yield loc, value


def children(parent: Plain) -> list[tuple[str | int, Plain]]:
    """What a mapping or a list holds, by key or index; nothing, for a value that is neither."""
    if isinstance(parent, dict):
        return list(parent.items())
    return list(enumerate(parent)) if isinstance(parent, list) else []
