"""From the text of `EXPLAIN FORMATTED` to a `Plan`: the second extractor, also for plans that exist only as text.

The text is turned into the tree that the first extractor reads, and then normalised by the same code. So both agree on
wrappers, reuse and the numbering of ids. The text does not show a scan's data filters, nor what is below an operator
that adaptive execution found empty. Both are omitted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from planopt_assets.errors import ExplainUnreadable
from planopt_assets.model.plan import Plan
from planopt_assets.observe.explain.details import detail, fewest_children, scan_metadata
from planopt_assets.observe.explain.paragraphs import Explained, Subquery, all_nodes, read_explained
from planopt_assets.observe.explain.tree import TreeNode
from planopt_assets.observe.plans.normalise import normalise

EXTRACTOR = "explain-formatted@1"

_HELD = "InMemoryRelation"  # drawn between a cached scan and the cached plan; the plan tree has no such node
_EMPTY = "EmptyRelation"  # below it are logical operators, some of which never ran
_SUBQUERY_NAME = re.compile(r"[\w-]+#\d+")
_SUBQUERY_ID = re.compile(r",? ?\[id=#\d+\]")
_MENTION = re.compile(r"\b((?:scalar-)?subquery|dynamicpruning|ScalarSubquery)#(\d+)")
_PUSHED = "ScalarSubquery"  # pushed filters refer to a sub-query by a separate number
_BROADCASTS = frozenset({"BroadcastExchange", "BroadcastQueryStage", "ReusedExchange"})
_ADAPTIVE = "AdaptiveSparkPlan"
_STAGES = frozenset({_ADAPTIVE, "ResultQueryStage"})

Info = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ExplainRow:
    """One line of the tree: position, operator number (none below an empty relation), name and paragraph."""

    position: int
    node_id: int | None
    node: str
    text: str


def parse_formatted(text: str, *, phase: str, tables: Mapping[str, str], first_id: int = 0) -> Plan:
    """The plan in a formatted text. An executed adaptive plan has two sections; `phase` selects one.

    The arguments are those of `normalise`. A truncated or ambiguous text raises `ExplainUnreadable`.

    >>> text = "== Physical Plan ==\\nRange (1)\\n\\n\\n(1) Range\\nOutput [1]: [id#7L]\\nArguments: Range (0, 9)\\n\\n"
    >>> [(n.kind, n.detail) for n in parse_formatted(text, phase="initial", tables={}).nodes]
    [('Range', 'Range (0, 9)')]
    """
    info = formatted_tree(text, phase=phase, first_id=first_id)
    return replace(normalise(info, phase=phase, tables=tables, first_id=first_id), extractor=EXTRACTOR)


def formatted_tree(text: str, *, phase: str, first_id: int = 0) -> Info:
    """The same plan as the tree that the first extractor reads, but without metrics: the text has none."""
    explained = read_explained(text)
    _check_finished(explained, phase)
    return _Assembly(explained, phase, first_id).info(explained.tree)


def explain_rows(text: str) -> list[ExplainRow]:
    """EXPLAIN as rows: every line of the plan's tree, then of each sub-query, with the paragraph of its operator."""
    explained = read_explained(text)
    trees = [explained.tree, *(s.tree for s in explained.subqueries if s.tree)]
    nodes = [node for tree in trees for node in all_nodes(tree)]
    told = {number: p.body for number, p in explained.paragraphs.items()}
    return [ExplainRow(i, n.id, n.label, told.get(n.id, "") if n.id else "") for i, n in enumerate(nodes)]


def _check_finished(explained: Explained, phase: str) -> None:
    if phase == "final" and not _finished(explained, explained.tree):
        raise ExplainUnreadable("the final plan is asked for, but adaptive execution has not finished")


def _finished(explained: Explained, root: TreeNode) -> bool:
    """A plan without adaptive execution is always final."""
    if root.id is None or root.label != _ADAPTIVE:
        return True
    told = re.search(r"^Arguments: isFinalPlan=(true|false)$", explained.paragraphs[root.id].body, re.MULTILINE)
    if not told:
        raise ExplainUnreadable(f"operator {root.id} does not say whether adaptive execution has finished")
    return told[1] == "true"


class _Assembly:
    """The tree of the plan, with each sub-query under its host operator, as in Spark's plan tree."""

    def __init__(self, explained: Explained, phase: str, first_id: int) -> None:
        self._explained = explained
        self._first_id = first_id
        self._initial = phase == "initial" and explained.tree.initial is not None
        self._hosted = _hosted(explained)

    def info(self, node: TreeNode, cached: bool = False) -> Info:
        if node.id is None:
            raise ExplainUnreadable(f"{node.label} has no number")
        paragraph = self._explained.paragraphs[node.id]
        drawn = node.children
        if node.initial is not None and self._initial and not cached:
            drawn = (node.initial,)
        if node.inner and node.inner[0].label == _HELD:
            drawn, cached = node.inner[0].inner, True
        children = () if paragraph.kind == _EMPTY else drawn
        if len(children) < fewest_children(paragraph.body):
            raise ExplainUnreadable(f"operator {node.id} ({node.label}) has lost what is below it")
        hosted = self._hosted.get(node.id, [])
        self._check_hosts(node.id, paragraph.body, hosted)
        below = [self.info(child, cached) for child in children] + [self._subquery(s, cached) for s in hosted]
        told = scan_metadata(paragraph.kind, paragraph.body)
        return _info(paragraph.kind, self._detail(node.id, node.label), below, told)

    def _detail(self, number: int, label: str) -> str:
        paragraph = self._explained.paragraphs[number]
        reused = None
        if paragraph.reuses is not None:
            if paragraph.reuses not in self._explained.paragraphs:
                raise ExplainUnreadable(f"operator {number} reuses {paragraph.reuses}, which is nowhere")
            exchange = self._explained.paragraphs[paragraph.reuses]
            reused = detail(exchange.kind, exchange.kind, exchange.body)
        return detail(paragraph.kind, label, paragraph.body, reused)

    def _check_hosts(self, number: int, body: str, hosted: list[Subquery]) -> None:
        """Spark lists sub-queries of the executed section only. A truncated text may have lost them."""
        mentioned = {(name, n) for name, n in _MENTION.findall(body) if int(n) >= self._first_id}
        listed = {mention for subquery in hosted for mention in _MENTION.findall(subquery.expression)}
        if (mentioned and not hosted) or any(name != _PUSHED for name, _ in mentioned - listed):
            raise ExplainUnreadable(f"operator {number} holds a sub-query that the text does not show")

    def _subquery(self, subquery: Subquery, cached: bool) -> Info:
        expression = _SUBQUERY_ID.sub("", subquery.expression)
        names = _SUBQUERY_NAME.findall(expression)
        if not names:
            raise ExplainUnreadable(f"a sub-query without a name: {expression[:120]!r}")
        if subquery.tree is None:
            return _info("ReusedSubquery", f"ReusedSubquery {names[-1]}", [])
        kind = self._subquery_kind(expression, subquery.tree)
        return _info(kind, f"{kind} {names[-1]}", [self.info(subquery.tree, cached)])

    def _subquery_kind(self, expression: str, tree: TreeNode) -> str:
        """The top node of a sub-query. The text does not name it if the sub-query prunes partitions."""
        if expression.startswith("Subquery "):
            return "Subquery"
        root = tree
        while root.label in _STAGES and root.children:
            root = root.initial if self._initial and root.initial else root.children[0]
        if root.label in _BROADCASTS:
            return "SubqueryBroadcast"
        return "Subquery" if _finished(self._explained, tree) else "SubqueryAdaptiveBroadcast"


def _hosted(explained: Explained) -> dict[int, list[Subquery]]:
    """The sub-queries of each operator in order. A plan that is drawn twice lists its sub-queries twice."""
    drawn = Counter(_visited(explained.tree))
    listed: dict[int, list[Subquery]] = {}
    for subquery in explained.subqueries:
        drawn.update(_visited(subquery.tree) if subquery.tree else [])
        listed.setdefault(subquery.host, []).append(subquery)
    for host, subqueries in listed.items():
        once, left = divmod(len(subqueries), drawn[host]) if drawn[host] else (0, 1)
        if left or subqueries != subqueries[:once] * drawn[host]:
            raise ExplainUnreadable(f"the sub-queries of operator {host} do not fit the plan")
        listed[host] = subqueries[:once]
    return listed


def _visited(tree: TreeNode) -> Iterator[int]:
    """The operators whose sub-queries Spark lists: the executed section, except inside a cached table."""
    stack = [tree]
    while stack:
        node = stack.pop()
        if node.id is not None:
            yield node.id
            stack.extend(node.children)


def _info(kind: str, text: str, children: list[Info], metadata: Mapping[str, str] | None = None) -> Info:
    node = {"nodeName": kind, "simpleString": text, "children": children, "metrics": []}
    return node | ({"metadata": metadata} if metadata else {})
