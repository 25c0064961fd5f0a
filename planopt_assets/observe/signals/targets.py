"""The hint names (targets) of the inputs of a physical join: its join in the analysed plan, and the side.

Both plans are used before planopt renumbers expression ids: within one execution the same id is the same column.
`model/hint.py` says how a target is written.

    analysed                          physical
    Join a.id = c.id         join0    SortMergeJoin [id#1], [id#9]      join0.left    join0.right c
    :- Join a.id = b.id      join1    :- SortMergeJoin [id#1], [id#5]   join1.left a  join1.right b
    :  :- SubqueryAlias a             :  :- Scan [id#1]
    :  +- SubqueryAlias b             :  +- Scan [id#5]
    +- SubqueryAlias c                +- Scan [id#9]

1. A physical join belongs to the query if exactly one analysed join has the columns of all its left keys below one
   input and those of all its right keys below the other. If the keys do not decide (there are none, or a second use of
   a CTE has new ids), both inputs must come from the same relations as those of an analysed join. Other joins come from
   sub-queries or `INTERSECT`; so does a semi or anti join that the author did not write as one.
2. A physical input has the name of the analysed input that comes from the same relations. If Spark reordered inner
   joins, that can be an input of another join: Spark keeps a hint with the input, not with the join. There is no name
   if no analysed input fits: after a reordering, the join of `a` and `c` is not one that the author wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planopt_assets.observe.plans.normalise import walk
from planopt_assets.observe.plans.plan_json import Flat, Node, bottom_up, plan_tree
from planopt_assets.observe.signals.join_text import is_join_kind, join_text

Info = Mapping[str, Any]
Ids = frozenset[int]

_ID = re.compile(r"#(\d+)")
_REUSED = re.compile(r"^Reused\w+ \[([^\]]*)\]")
_ONLY_LEFT = ("LeftSemi", "LeftAnti")
_WRITTEN = (*_ONLY_LEFT, "LeftSingle", "ExistenceJoin")  # types that Spark gives to no other join
_NO_NAME = "__auto_generated_subquery_name"


@dataclass(frozen=True, slots=True)
class _Input:
    """One input of an analysed join: its name, the ids of all columns below it, the relations it comes from."""

    join: int
    kind: str
    name: str
    ids: Ids
    relations: Ids


def join_targets(physical: Info, analysed: Flat, first_id: int) -> dict[int, tuple[str, str]]:
    """Targets of the left and right input, by position in the normalised plan. Empty if no hint can name the input.

    Joins inside sub-queries and cached tables are omitted. Numbers below `first_id` are not expression ids.
    """
    asked = _Asked(analysed)
    made_from = _relations_below(physical, asked, first_id)
    seen = frozenset[int]().union(*made_from.values())
    return {
        index: asked.targets(node, [made_from[id(side)] for side in sides], seen, first_id)
        for index, (node, _) in enumerate(walk(physical))
        if id(node) in made_from and is_join_kind(node["nodeName"]) and len(sides := _inputs(node)) == 2
    }


class _Asked:
    """The joins of an analysed plan, numbered depth first. Joins inside sub-queries cannot be named."""

    def __init__(self, analysed: Flat) -> None:
        root = plan_tree(analysed)
        self._origins: dict[int, Ids] = {}  # id of a column -> relations below the operator that first has it
        self._inputs = _join_inputs(root, self._origins)

    def relations(self, ids: Ids) -> Ids:
        """The relations that columns with these ids come from."""
        return frozenset(r for i in ids for r in self._origins.get(i, ()))

    def targets(self, node: Info, made_from: Sequence[Ids], seen: Ids, first_id: int) -> tuple[str, str]:
        """`seen` are the relations left after planning: an input may have lost one that is not needed."""
        text = join_text(node["simpleString"])
        keys = [_ids(" ".join(side), first_id) for side in (text.left_keys, text.right_keys)]
        pairs = [(a, b) for a, b in self._pairs() if text.kind not in _WRITTEN or text.kind == a.kind]
        joins = [a.join for a, b in pairs if all(keys) and _split(keys, a.ids, b.ids)]
        if not joins and all(made_from):
            joins = [a.join for a, b in pairs if _same(made_from, [a.relations & seen, b.relations & seen])]
        if len(joins) != 1:
            return "", ""
        left, right = (self._named(relations, seen, joins[0]) for relations in made_from)
        return left, right

    def _pairs(self) -> Iterator[tuple[_Input, _Input]]:
        return zip(self._inputs[::2], self._inputs[1::2], strict=True)

    def _named(self, relations: Ids, seen: Ids, join: int) -> str:
        same = [i for i in self._inputs if relations and i.relations & seen == relations]
        own = [i for i in same if i.join == join] or same
        return own[0].name if len(own) == 1 else ""


def _split(keys: Sequence[Ids], one: Ids, other: Ids) -> bool:
    left, right = keys
    return (left <= one and right <= other) or (left <= other and right <= one)


def _same(made_from: Sequence[Ids], inputs: Sequence[Ids]) -> bool:
    return list(made_from) in (list(inputs), list(reversed(inputs)))


def _join_inputs(root: Node, origins: dict[int, Ids]) -> list[_Input]:
    """Left and right input of every join, in the order of the joins. Fills `origins`."""
    numbers = {id(node): n for n, node in enumerate(node for node in _top_down(root) if node.kind == "Join")}
    below: dict[int, tuple[Ids, Ids]] = {}  # node -> ids, relations
    ctes: dict[int, tuple[Ids, Ids]] = {}
    found: list[_Input] = []
    for place, node in enumerate(bottom_up(root)):
        parts = [below[id(child)] for child in node.children]
        if node.kind == "Join":
            number = numbers[id(node)]
            found += [
                _Input(number, _type(node), f"join{number}.{side}{_alias(child)}", *part)
                for side, child, part in zip(("left", "right"), node.children, parts, strict=True)
            ]
        # A definition counts only where it is used.
        parts = parts[-1:] if node.kind == "WithCTE" else parts
        own = frozenset(_columns(node.fields))
        ids = own.union(*(i for i, _ in parts))
        giving = parts[:1] if node.kind == "Join" and _type(node) in _ONLY_LEFT else parts
        relations = frozenset[int]().union(*(r for _, r in giving)) if node.children else frozenset({place})
        if node.kind == "CTERelationRef" and ids <= ctes.get(node.fields["cteId"], (frozenset(), frozenset()))[0]:
            ids, relations = ctes[node.fields["cteId"]]  # a reference with new ids is a new relation
        if node.kind == "CTERelationDef":
            ctes[node.fields["id"]] = ids, relations
        below[id(node)] = ids, relations
        for column in own:
            origins.setdefault(column, relations)
    return sorted(found, key=lambda i: i.join)  # stable: left stays before right


def _type(join: Node) -> str:
    return str(join.fields["joinType"].get("object", "")).rstrip("$").rpartition(".")[2]


def _top_down(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def _columns(value: object) -> Iterator[int]:
    """Ids of all columns that an operator creates or uses, without the plans of sub-queries."""
    stack = [value]
    while stack:
        here = stack.pop()
        if isinstance(here, dict):
            if isinstance(here.get("exprId"), dict) and "plan" not in here:  # the id of a sub-query is no column
                yield int(here["exprId"]["id"])
            stack.extend(v for k, v in here.items() if k != "plan" and isinstance(v, dict | list))
        elif isinstance(here, list):
            stack.extend(v for v in here if isinstance(v, dict | list))


def _alias(node: Node) -> str:
    """The author's alias of an input, with a space before it. Empty if it has no name that a hint could use."""
    while node.kind == "ResolvedHint":
        (node,) = node.children
    if node.kind == "SubqueryAlias":
        name = str(node.fields["identifier"]["name"])
    elif node.kind == "View":
        name = str(node.fields["desc"]["identifier"]["table"])
    else:
        return ""
    return f" {name}" if name != _NO_NAME and not re.search(r"\s", name) else ""


def _inputs(node: Info) -> list[Info]:
    return [c for c in node["children"] if not c["nodeName"].startswith(("Subquery", "ReusedSubquery"))]


def _relations_below(root: Info, asked: _Asked, first_id: int) -> dict[int, Ids]:
    """By operator: the relations with columns in it or in the operators that its rows come from.

    Not followed: the original that a reused exchange shows (it belongs elsewhere), what is below a cached table (it was
    planned at another time), and the right input of a semi join (it gives no rows, and Spark moves such joins).
    """
    found: dict[int, Ids] = {}
    stack = [(root, False)]
    while stack:
        node, entered = stack.pop()
        name, text = node["nodeName"], node["simpleString"]
        inputs = [] if name.startswith(("Reused", "EmptyRelation", "Scan In-memory")) else _inputs(node)
        if not entered:
            stack.append((node, True))
            stack.extend((child, False) for child in inputs)
            continue
        if name.startswith("Reused"):
            text = own[1] if (own := _REUSED.match(text)) else ""
        giving = inputs
        if is_join_kind(name) and join_text(text).kind in _ONLY_LEFT:
            giving, text = inputs[:1], ""
        found[id(node)] = asked.relations(_ids(text, first_id)).union(*(found[id(child)] for child in giving))
    return found


def _ids(text: str, first_id: int) -> Ids:
    return frozenset(i for n in _ID.findall(text) if (i := int(n)) >= first_id)
