"""The keys, type and build side of a physical join, from its text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from planopt_assets.model.plan import PlanNode
from planopt_assets.model.signals import SideName

_TYPE = re.compile(r"\b(Inner|LeftOuter|RightOuter|FullOuter|LeftSemi|LeftAnti|LeftSingle|Cross|ExistenceJoin)\b")
_BUILD = re.compile(r"\bBuild(Left|Right)\b")


@dataclass(frozen=True, slots=True)
class JoinText:
    """Keys are in pairs. A join without equality keys has none."""

    left_keys: tuple[str, ...]
    right_keys: tuple[str, ...]
    kind: str
    build: SideName | None


def is_join(node: PlanNode) -> bool:
    return is_join_kind(node.kind)


def is_join_kind(kind: str) -> bool:
    """A skewed join is called `SortMergeJoin(skew=true)`."""
    return kind.partition("(")[0].endswith(("Join", "CartesianProduct"))


def join_text(text: str) -> JoinText:
    """
    >>> join_text("BroadcastHashJoin [a#0, lower(b#1)], [c#2, d#3], Inner, BuildRight, false")
    JoinText(left_keys=('a#0', 'lower(b#1)'), right_keys=('c#2', 'd#3'), kind='Inner', build='right')
    >>> join_text("CartesianProduct (a#0 > b#1)")
    JoinText(left_keys=(), right_keys=(), kind='Inner', build=None)
    """
    rest = text.partition(" ")[2]
    left, rest = _bracketed(rest)
    right, rest = _bracketed(rest.removeprefix(", "))
    kind, build = _TYPE.search(rest), _BUILD.search(rest)
    side: SideName | None = None
    if build is not None:
        side = "left" if build[1] == "Left" else "right"
    return JoinText(tuple(_parts(left)), tuple(_parts(right)), kind[1] if kind else "Inner", side)


def key_count(text: str) -> int:
    """Keys of an aggregation.

    >>> key_count("HashAggregate(keys=[a#0, nvl(b#1, 2)], functions=[sum(c#2)])"), key_count("HashAggregate(keys=[])")
    (2, 0)
    """
    keys, _ = _bracketed(text.partition("keys=")[2])
    return len(list(_parts(keys)))


def _bracketed(text: str) -> tuple[str, str]:
    """The text between the first bracket and its closing one, and the text after it."""
    if not text.startswith("["):
        return "", text
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "[") - (char == "]")
        if depth == 0:
            return text[1:at], text[at + 1 :]
    return "", text


def _parts(text: str) -> Iterator[str]:
    """Split at commas outside brackets."""
    depth = start = 0
    for at, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            yield text[start:at].strip()
            start = at + 1
    if text:
        yield text[start:].strip()
