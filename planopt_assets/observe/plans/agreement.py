"""Compares two readings of one plan: the facts that both extractors give for each operator, strictly.

Expression ids are numbered by first appearance, and the two readings mention them in different orders. So ids are
compared through one mapping for the whole plan: wherever one reading has `a#3`, the other must always have the same
partner, in both directions. The name before `#` belongs to the id: a literal such as `Brand#45` is its own partner.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from planopt_assets.model.plan import Plan, PlanNode
from planopt_assets.observe.plans.fingerprint import partition_count, scanned_table

_ID = re.compile(r"(\w*)#(\d+)")
_SCAN = re.compile(
    r"FileScan \w+ (?P<columns>\[.*?\]) Batched: (?P<batched>\w+), (?:DataFilters: .*?, Format: \w+, )?"
    r"Table: (?P<table>\w+), PartitionFilters: (?P<partition>.*), PushedFilters: (?P<pushed>.*), "
    r"ReadSchema: (?P<schema>.*)",
    re.DOTALL,
)
_TYPE = re.compile(
    r"(?:^\w+ |, )(Inner|Cross|LeftOuter|RightOuter|FullOuter|LeftSemi|LeftAnti|LeftSingle|ExistenceJoin)\b"
)
_SIDE = re.compile(r"(?:^\w+ |, )(BuildLeft|BuildRight)\b")
_FLAGS = re.compile(r"(?:, (?:true|false)){2}$")  # of a broadcast hash join; the text does not have them
_PARTITIONING = re.compile(r"Exchange (\w+)")
_TAKE = re.compile(
    r"TakeOrderedAndProject\(limit=(\d+)(?:, offset=(\d+))?, orderBy=(\[.*\]), output=(\[.*\])\)", re.DOTALL
)
_BARE_COLUMN = re.compile(r"^(\w+#\d+): boolean$")  # only the plan tree adds the type, and only to a column alone
_SUBQUERY_NAME = re.compile(r"[\w-]+#\d+")
_SHOWN = 160


@dataclass(frozen=True, slots=True)
class Essence:
    """What both extractors say about one operator. `facts` are pairs of a readable name and a value."""

    parent: int
    kind: str
    facts: tuple[tuple[str, str], ...]


def essence(plan: Plan) -> tuple[Essence, ...]:
    """Operator by operator in plan order.

    >>> plan = Plan("initial", (PlanNode(0, -1, "Filter", "Filter (a#0 > 2)"),), "x")
    >>> essence(plan)
    (Essence(parent=-1, kind='Filter', facts=(('condition', '(a#0 > 2)'),)),)
    """
    return tuple(Essence(node.parent, node.kind, tuple(_facts(node))) for node in plan.nodes)


def disagreements(primary: Plan, text: Plan) -> tuple[str, ...]:
    """The differences between two readings of one plan, as readable text. Empty if they agree."""
    ours, theirs = essence(primary), essence(text)
    names = f"{primary.extractor} and {text.extractor}"
    found = []
    if primary.phase != text.phase:
        found.append(f"the phase is {primary.phase} and {text.phase}")
    if len(ours) != len(theirs):
        found.append(f"{names} see {len(ours)} and {len(theirs)} operators")
    partners = _Partners()
    for index, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        place = f"operator {index} ({one.kind})"
        if one.kind != other.kind:
            found.append(f"operator {index} is {one.kind} and {other.kind}")
            break  # everything after it is shifted
        if one.parent != other.parent:
            found.append(f"{place} is under operator {one.parent} and {other.parent}")
        found.extend(f"{place}: {difference}" for difference in _different_facts(one, other, partners))
    return tuple(found)


def _different_facts(one: Essence, other: Essence, partners: _Partners) -> Iterator[str]:
    ours, theirs = dict(one.facts), dict(other.facts)
    for name in dict.fromkeys([*ours, *theirs]):
        left, right = ours.get(name), theirs.get(name)
        if left is None or right is None or _ID.sub(r"\1#", left) != _ID.sub(r"\1#", right):
            yield f"{name} is {_short(left)} and {_short(right)}"
        else:
            yield from (f"{name} means another column: {clash}" for clash in partners.clashes(left, right))


class _Partners:
    """The mapping of ids between the two readings, as far as the plan has been compared."""

    def __init__(self) -> None:
        self._there: dict[tuple[str, str], tuple[str, str]] = {}
        self._back: dict[tuple[str, str], tuple[str, str]] = {}

    def clashes(self, left: str, right: str) -> Iterator[str]:
        for one, other in zip(_ID.findall(left), _ID.findall(right), strict=True):
            if self._there.setdefault(one, other) != other or self._back.setdefault(other, one) != one:
                yield f"{'#'.join(one)} and {'#'.join(other)}"


def _facts(node: PlanNode) -> Iterator[tuple[str, str]]:
    text = node.detail
    if scanned_table(node) is not None and (scan := _SCAN.fullmatch(text)):
        yield from (
            ("columns", scan["columns"]),
            ("table", scan["table"]),
            ("batched", scan["batched"]),
            ("partition filters", scan["partition"]),
            ("pushed filters", scan["pushed"]),
            ("schema read", scan["schema"]),
        )
        return
    if "Subquery" in node.kind:
        yield "sub-query", next(iter(_SUBQUERY_NAME.findall(text)), "")
        return
    if node.kind == "EmptyRelation":
        return
    if "Join" in node.kind:
        text = _FLAGS.sub("", text) if node.kind == "BroadcastHashJoin" else text
        yield from (("join type", found[1]) for found in [_TYPE.search(text)] if found)
        yield from (("build side", found[1]) for found in [_SIDE.search(text)] if found)
    if node.kind == "Exchange":
        yield from (("partitioning", found[1]) for found in [_PARTITIONING.match(text)] if found)
        yield from (("partitions", str(count)) for count in [partition_count(node)] if count is not None)
    if node.kind == "Filter":
        yield "condition", _BARE_COLUMN.sub(r"\1", text.removeprefix("Filter "))
        return
    if take := _TAKE.fullmatch(text):
        text = f"TakeOrderedAndProject {take[1]}, {take[3]}, {take[4]}" + (f", {take[2]}" if take[2] else "")
    if node.kind == "TakeOrderedAndProject":
        text = text.replace(", ", ",")  # one form has spaces in its lists, the other has none
    yield "says", text.removeprefix(node.kind).strip()


def _short(text: str | None) -> str:
    if text is None:
        return "nothing"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
