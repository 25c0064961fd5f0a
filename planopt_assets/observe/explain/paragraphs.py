"""A formatted plan cut into blocks: the plan and each sub-query. A block is a tree and a paragraph per operator.

A string literal may contain lines that look like the text around it. So nothing is recognised by its form alone: a
paragraph must have a number and a name from the tree. If two places would fit, the text is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from planopt_assets.errors import ExplainUnreadable
from planopt_assets.observe.explain.tree import TreeNode, read_tree

_TITLE = "== Physical Plan ==\n"
_SUBQUERIES = "\n===== Subqueries =====\n\n"
_OPTIMIZED_OUT = "\n===== Adaptively Optimized Out Exchanges =====\n\n"
_HOST = r"Subquery:{} Hosting operator id = (\d+) Hosting Expression = ([^\n]*)\n"
_HEADER = re.compile(r"\n\n\((\d+)\) ([^\n]+)(?=\n)")
_MARKS = re.compile(r"(.*?) ?(?: \[codegen id : \d+\])?(?: \[Reuses operator id: (\d+)\])?")
_JOIN_LABEL = re.compile(r"(\S*(?:Join|CartesianProduct)\S*) (?:Inner|Cross|Left|Right|Full|Existence).*")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """The paragraph of one operator: its exact name, its fields, and the exchange it reuses."""

    kind: str
    body: str
    reuses: int | None


@dataclass(frozen=True, slots=True)
class Subquery:
    """A plan inside an expression of operator `host`. No tree if another sub-query is reused."""

    host: int
    expression: str
    tree: TreeNode | None


@dataclass(frozen=True, slots=True)
class Explained:
    """A whole formatted plan. Operator numbers are unique over all its blocks."""

    tree: TreeNode
    subqueries: tuple[Subquery, ...]
    paragraphs: dict[int, Paragraph]


def read_explained(text: str) -> Explained:
    """Cut `text` into blocks. Every operator of every tree has exactly one paragraph, and no text is left over."""
    if not text.startswith(_TITLE):
        raise ExplainUnreadable("the text does not begin with `== Physical Plan ==`")
    reader = _Reader(text)
    tree = reader.block(_then(_SUBQUERIES, _HOST.format(1)), _then(_OPTIMIZED_OUT, "Subplan:1\n"))
    subqueries: list[Subquery] = []
    if reader.skip(_SUBQUERIES):
        while header := reader.header(_HOST.format(len(subqueries) + 1)):
            following = _then("\n", _HOST.format(len(subqueries) + 2))
            reused = reader.text.startswith("\n", reader.at)
            below = None if reused else reader.block(following, _then("\n" + _OPTIMIZED_OUT, "Subplan:1\n"), tail=2)
            subqueries.append(Subquery(int(header[1]), header[2], below))
            reader.expect("\n")
    if reader.skip(_OPTIMIZED_OUT):
        count = 1
        while reader.skip(f"Subplan:{count}\n"):
            count += 1
            reader.block(_then("\n", f"Subplan:{count}\n"), tail=2)
            reader.expect("\n")
    reader.expect("\n")
    if reader.at != len(text):
        raise ExplainUnreadable(f"the text goes on after the plan: {text[reader.at :][:80]!r}")
    reader.check_that_every_number_has_its_place()
    return Explained(tree, tuple(subqueries), reader.paragraphs)


def all_nodes(tree: TreeNode) -> Iterator[TreeNode]:
    """Every line of a tree in drawing order, with both sections of an adaptive plan."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        below = [*node.inner, *node.children, *([node.initial] if node.initial else [])]
        stack.extend(reversed(below))


class _Reader:
    """A position in the text, and the paragraphs read so far."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = len(_TITLE)
        self.paragraphs: dict[int, Paragraph] = {}
        self._headers: dict[int, list[re.Match[str]]] = {}
        for found in _HEADER.finditer(text):
            self._headers.setdefault(int(found[1]), []).append(found)

    def skip(self, literal: str) -> bool:
        found = self.text.startswith(literal, self.at)
        self.at += len(literal) if found else 0
        return found

    def expect(self, literal: str) -> None:
        if not self.skip(literal):
            raise ExplainUnreadable(f"the text is cut at character {self.at}")

    def header(self, pattern: str) -> re.Match[str] | None:
        found = re.compile(pattern).match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found

    def block(self, *boundaries: re.Pattern[str], tail: int = 1) -> TreeNode:
        """A tree and the paragraphs of its operators, up to the first of `boundaries` or the end of the text."""
        end = self.text.find("\n\n", self.at)
        if end < 0:
            raise ExplainUnreadable("the text ends inside the tree")
        tree = read_tree(self.text[self.at : end])
        self.at = end + 2
        labels = {n.id: n.label for n in all_nodes(tree) if n.id is not None and n.id not in self.paragraphs}
        headers = [(number, self._paragraph_header(number, labels[number])) for number in sorted(labels)]
        if headers and headers[0][1].start() + 1 != self.at:
            raise ExplainUnreadable(f"something stands between the tree and operator {headers[0][0]}")
        starts = [found.start() for _, found in headers]
        if starts != sorted(starts):
            raise ExplainUnreadable("operators are not described in the order of their numbers")
        if headers:
            ends = [start + 1 for start in starts[1:]] + [self._block_end(headers[-1][1].end() + 1, boundaries, tail)]
            for (number, found), stop in zip(headers, ends, strict=True):
                kind, reuses = _kind(found)
                body = self.text[found.end() + 1 : stop]
                self.paragraphs[number] = Paragraph(kind, body.removesuffix("\n"), reuses)
            self.at = ends[-1]
        return tree

    def check_that_every_number_has_its_place(self) -> None:
        """Spark numbers operators from 1 without gaps. A number left over belongs to a tree that was not read."""
        numbers = {*self._headers, *range(1, max(self.paragraphs, default=0) + 1)}
        if left_over := numbers - set(self.paragraphs):
            raise ExplainUnreadable(f"operator {min(left_over)} is in no tree")

    def _paragraph_header(self, number: int, label: str) -> re.Match[str]:
        join = _JOIN_LABEL.fullmatch(label)
        kind = join[1] if join else label
        found = [f for f in self._headers.get(number, []) if f.start() + 1 >= self.at and _kind(f)[0] == kind]
        if len(found) != 1:
            raise ExplainUnreadable(f"operator {number} ({label}) is described {len(found)} times")
        return found[0]

    def _block_end(self, start: int, boundaries: tuple[re.Pattern[str], ...], tail: int) -> int:
        """The end of the last paragraph. `start` is after its first line."""
        for boundary in boundaries:
            found = [f.start() for f in boundary.finditer(self.text, start - 1)]
            if len(found) > 1:
                raise ExplainUnreadable("the end of a plan can be read in two ways")
            if found:
                return found[0] + 1
        if not self.text.endswith("\n" * (tail + 1)):
            raise ExplainUnreadable("the text is cut in its last paragraph")
        return max(len(self.text) - tail, start)


def _then(literal: str, pattern: str) -> re.Pattern[str]:
    """A boundary right after the line feed that ends the last paragraph."""
    return re.compile(f"\n{re.escape(literal)}{pattern}")


def _kind(header: re.Match[str]) -> tuple[str, int | None]:
    found = _MARKS.fullmatch(header[2])
    assert found is not None, "the pattern matches any line"
    return found[1].strip(), int(found[2]) if found[2] else None
