"""Two hashes of a plan: exact (`plan_fingerprint`) and shape only (`topology_hash`)."""

from __future__ import annotations

import re

from planopt_assets.model.ids import content_id
from planopt_assets.model.plan import Plan, PlanNode

_JOIN = re.compile(r"\b(Inner|LeftOuter|RightOuter|FullOuter|LeftSemi|LeftAnti|LeftSingle|Cross|ExistenceJoin)\b")
_BUILD = re.compile(r"\bBuild(Left|Right)\b")
_PARTITIONING = re.compile(r"\b(hashpartitioning|rangepartitioning|RoundRobinPartitioning|SinglePartition)\b")
_COUNT = re.compile(r"(?:, |\()(\d+)\)(?:, [A-Z_]+)?$")
_TABLE = re.compile(r"Table: (\w+)")


def plan_fingerprint(plan: Plan) -> str:
    """Equal only if every operator and literal is equal. Table versions and expression ids do not count."""
    return content_id("pln", [[n.parent, n.kind, n.detail] for n in plan.nodes])


def topology_hash(plan: Plan) -> str:
    """Equal if operators, join strategies, build sides, exchanges with partition counts, and scans are equal."""
    return content_id("top", [[n.parent, *shape(n)] for n in plan.nodes])


def shape(node: PlanNode) -> list[str]:
    """The shape of one operator, without literals.

    >>> shape(PlanNode(0, -1, "Exchange", "Exchange hashpartitioning(k#0, 200), ENSURE_REQUIREMENTS"))
    ['Exchange', 'hashpartitioning', '200']
    """
    parts = [node.kind]
    for pattern in (_JOIN, _BUILD, _PARTITIONING) if _has_strategy(node) else ():
        parts += [m[1] for m in [pattern.search(node.detail)] if m]
    if (count := partition_count(node)) is not None:
        parts.append(str(count))
    if (table := scanned_table(node)) is not None:
        parts += [table, "batched" if "Batched: true" in node.detail else "row-wise"]
    return parts


def partition_count(node: PlanNode) -> int | None:
    """Planned partitions of a shuffle, if the plan shows them."""
    if node.kind != "Exchange":
        return None
    found = _COUNT.search(node.detail)
    return int(found[1]) if found else None


def scanned_table(node: PlanNode) -> str | None:
    if not node.kind.startswith("Scan"):
        return None
    found = _TABLE.search(node.detail)
    return found[1] if found else None


def _has_strategy(node: PlanNode) -> bool:
    return "Join" in node.kind or node.kind == "Exchange"
