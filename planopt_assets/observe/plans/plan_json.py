"""Spark's JSON form of a plan: a tree is a flat list, a parent before its children.

    [{"class": "…Filter", "num-children": 1, "condition": [{"class": "…GreaterThan", …}, …]}, {"class": "…Range", …}]

A field of a plan node holds an expression (a list of nodes), a list of expressions, or a list of such lists. The plan
of a sub-query is the field `plan` of an expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Flat = Sequence[Json]


@dataclass(frozen=True, slots=True)
class Node:
    """An operator of a plan with the operators below it."""

    fields: Json
    children: tuple[Node, ...]

    @property
    def kind(self) -> str:
        return kind_of(self.fields)


def kind_of(node: Json) -> str:
    """A class without its package.

    >>> kind_of({"class": "org.apache.spark.sql.catalyst.plans.logical.OneRowRelation$"})
    'OneRowRelation'
    """
    return str(node["class"]).rpartition(".")[2].rstrip("$")


def plan_tree(flat: Flat) -> Node:
    """The tree of a flat list. It is read backwards, so that children exist before their parent."""
    stack: list[Node] = []
    for fields in reversed(flat):
        children = tuple(stack.pop() for _ in range(fields["num-children"]))
        stack.append(Node(fields, children))
    (root,) = stack
    return root


def bottom_up(root: Node) -> Iterator[Node]:
    """Every node after its children, left before right. No recursion, because plans can be deep."""
    stack = [(root, False)]
    while stack:
        node, entered = stack.pop()
        if entered:
            yield node
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.children))


def expressions(value: object) -> Iterator[Flat]:
    """The expressions in a field, in order, at any depth of nesting."""
    if not isinstance(value, list) or not value:
        return
    if isinstance(value[0], dict):
        if "class" in value[0] and "num-children" in value[0]:
            yield value
    else:
        for item in value:
            yield from expressions(item)


def after_subtree(flat: Flat, at: int) -> int:
    """The index after the tree that starts at `at`."""
    open_nodes = 1
    while open_nodes:
        open_nodes += flat[at]["num-children"] - 1
        at += 1
    return at


def expression_id(node: Json) -> int:
    return int(node["exprId"]["id"])
