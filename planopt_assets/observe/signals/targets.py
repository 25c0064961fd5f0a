"""What a hint calls the inputs of a physical join: which join of the analysed plan it was, and on which side.

Both plans are taken as Spark shows them, before planopt renumbers expression ids: within one execution the same id is
the same column. `model/hint.py` says how a target is written.

    analysed                          physical
    Join a.id = c.id         join0    SortMergeJoin [id#1], [id#9]      join0.left    join0.right c
    :- Join a.id = b.id      join1    :- SortMergeJoin [id#1], [id#5]   join1.left a  join1.right b
    :  :- SubqueryAlias a             :  :- Scan [id#1]
    :  +- SubqueryAlias b             :  +- Scan [id#5]
    +- SubqueryAlias c                +- Scan [id#9]

1. A physical join is one of the query's own if exactly one analysed join has the columns of all its left keys below
   one input and those of all its right keys below the other. Where the keys do not tell (there are none, or a second
   use of a CTE has new ids), both inputs must be made from the same relations as those of an analysed join. Others
   come from sub-queries, or from `INTERSECT`; so does a semi or anti join that the author did not write as one.
2. A physical input is then named after the analysed input that is made from the same relations, of that join or,
   where Spark changed the order of inner joins, of another: Spark keeps a hint with the input, not with the join. None
   where no analysed input is: after a change of order, the join of `a` and `c` is nothing the author wrote.
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
_WRITTEN = (*_ONLY_LEFT, "LeftSingle", "ExistenceJoin")  # types that Spark gives no other join
_NO_NAME = "__auto_generated_subquery_name"


@dataclass(frozen=True, slots=True)
class _Input:
    """One input of an analysed join: its name, the ids of all columns below it, the relations it is made from."""

    join: int
    kind: str
    name: str
    ids: Ids
    relations: Ids


def join_targets(physical: Info, analysed: Flat, first_id: int) -> dict[int, tuple[str, str]]:
    """By place in the normalised plan: the targets of the left and the right input, empty where a hint cannot name it.

    Joins inside sub-queries and cached tables are left out. Numbers below `first_id` are no expression ids.
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
    """The joins of an analysed plan, numbered depth first; those inside sub-queries cannot be named."""

    def __init__(self, analysed: Flat) -> None:
        root = plan_tree(analysed)
        self._origins: dict[int, Ids] = {}  # id of a column -> relations below the operator that first has it
        self._inputs = _join_inputs(root, self._origins)

    def relations(self, ids: Ids) -> Ids:
        """Those that columns with these ids are made from."""
        return frozenset(r for i in ids for r in self._origins.get(i, ()))

    def targets(self, node: Info, made_from: Sequence[Ids], seen: Ids, first_id: int) -> tuple[str, str]:
        """`seen` are the relations that planning left over: an input may have lost one that nobody needs."""
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
    """Left and right input of every join, in the order of the joins; `origins` is filled on the way."""
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
        # A definition counts where it is used.
        parts = parts[-1:] if node.kind == "WithCTE" else parts
        own = frozenset(_columns(node.fields))
        ids = own.union(*(i for i, _ in parts))
        giving = parts[:1] if node.kind == "Join" and _type(node) in _ONLY_LEFT else parts
        relations = frozenset[int]().union(*(r for _, r in giving)) if node.children else frozenset({place})
        if node.kind == "CTERelationRef" and ids <= ctes.get(node.fields["cteId"], (frozenset(), frozenset()))[0]:
            ids, relations = ctes[node.fields["cteId"]]  # a reference with ids of its own is a relation of its own
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
    """Ids of all columns an operator makes or uses; plans of sub-queries are not entered."""
    stack = [value]
    while stack:
        here = stack.pop()
        if isinstance(here, dict):
            if isinstance(here.get("exprId"), dict) and "plan" not in here:  # a sub-query's id is that of no column
                yield int(here["exprId"]["id"])
            stack.extend(v for k, v in here.items() if k != "plan" and isinstance(v, dict | list))
        elif isinstance(here, list):
            stack.extend(v for v in here if isinstance(v, dict | list))


def _alias(node: Node) -> str:
    """What the author calls an input, with a space before it; nothing where it has no name that a hint could use."""
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
    """By operator: the relations that it and all that its rows come from have columns of.

    A reused exchange shows the original, which belongs elsewhere, after its own columns. What is below a cached table
    was planned at another time. The right input of a semi join gives no rows: Spark moves such joins below others.
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
