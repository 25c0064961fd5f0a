"""Edges from every stored row to the rows it was made from, and the tree they span."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from planopt_assets.errors import RowNotFound
from planopt_assets.model.promotion import Promotion
from planopt_assets.model.records import Edge
from planopt_assets.store.codecs.damage import damaged
from planopt_assets.store.snapshot import Snapshot

KINDS = {
    "pro": "promotion",
    "ver": "verdict",
    "tri": "trial",
    "can": "candidate",
    "dec": "decision",
    "obs": "observation",
    "exe": "execution",
    "pol": "policy",
    "lay": "layout",
    "mnt": "maintenance",
}


@dataclass(frozen=True, slots=True)
class Node:
    """One row in the tree of what it came from; of a source table, the columns that were needed."""

    kind: str
    id: str
    parents: tuple[Node, ...] = ()
    columns: tuple[str, ...] = ()

    def facts(self) -> dict[str, Any]:
        columns = {"columns": list(self.columns)} if self.kind == "table" else {}
        return {"kind": self.kind, "id": self.id, **columns, "came_from": [p.facts() for p in self.parents]}

    def describe(self) -> str:
        return f"{self.kind} {self.id}" + (f" ({', '.join(self.columns)})" if self.columns else "")


def column_id(table: str, column: str) -> str:
    """
    >>> column_id("lineitem@v12", "l_orderkey")
    'lineitem@v12.l_orderkey'
    """
    return f"{table}.{column}"


def edges(query_id: str, stage: str, child: str, parents: Iterable[str]) -> list[Edge]:
    """One edge per parent; ids name their kind, and anything else is a source table at a version or its column.

    The version is in the id, so a column that changed its meaning with a later version is another column.
    """
    return [Edge(query_id, stage, child, parent) for parent in dict.fromkeys(parents)]


def promotion_edges(promotion: Promotion) -> list[Edge]:
    """What a generation came from: its verdict and candidate, the generation it went back to, what made it go back.

    All of it is in the row, so edges lost in a crash can be made again. A pin came from nothing but its policy.
    """
    restored = [f"pro-{promotion.query_id}-g{promotion.restores}"] if promotion.restores else []
    parents = [p for p in (promotion.verdict_id, promotion.candidate_id) if p] + restored + [*promotion.evidence_ids]
    return edges(promotion.query_id, "promote", promotion.id, parents or [promotion.policy.id])


def kind_of(row_id: str) -> str:
    """
    >>> kind_of("ver-1f2e3d4c5b6a-q1-can_0011"), kind_of("lineitem@v12"), kind_of("lineitem@v12.l_orderkey")
    ('verdict', 'table', 'column')
    """
    _, versioned, version = row_id.partition("@v")
    if versioned:
        return "column" if "." in version else "table"
    return KINDS.get(row_id[:3], "table") if row_id[3:4] in ("-", "_") else "table"


def tree(snapshot: Snapshot, row_id: str) -> Node:
    """Everything `row_id` came from, down to source tables with versions."""
    edges = snapshot.table("lineage", ["child_id", "parent_id"])
    for column in edges.column_names:
        if edges[column].null_count:
            raise damaged("lineage", column, None, None, "it is null")
    table = edges.group_by("child_id").aggregate([("parent_id", "list")])
    parents = dict(zip(table["child_id"].to_pylist(), table["parent_id_list"].to_pylist(), strict=True))
    if row_id not in parents:
        raise RowNotFound(
            f"no row {row_id!r} has lineage",
            where=snapshot.root,
            fix="take an id from `planopt status --json` or `planopt why QUERY --json`",
        )
    return _node(row_id, parents)


def _node(row_id: str, parents: Mapping[str, list[str]], columns: tuple[str, ...] = ()) -> Node:
    above = dict.fromkeys(parents.get(row_id, ()))
    read: dict[str, list[str]] = {}
    for parent in above:
        if kind_of(parent) == "column":
            table, column = _table_and_column(parent)
            read.setdefault(table, []).append(column)
    rows = [p for p in above if kind_of(p) != "column"]
    return Node(kind_of(row_id), row_id, tuple(_node(p, parents, tuple(read.get(p, ()))) for p in rows), columns)


def _table_and_column(row_id: str) -> tuple[str, str]:
    table, _, rest = row_id.partition("@v")
    version, _, column = rest.partition(".")
    return f"{table}@v{version}", column
