"""Plans in the compressed form of the store: always a hash, and the whole plan if it is not too large."""

from __future__ import annotations

from typing import Any

import orjson
import zstandard

from planopt_assets.model.ids import content_id
from planopt_assets.model.plan import Plan, PlanNode

CAP = 2 * 1024 * 1024
"""Largest compressed tree in bytes. Of a larger one only the hash is kept."""


def tree_of(plan: Plan) -> list[list[Any]]:
    return [[n.parent, n.kind, n.detail] for n in plan.nodes]


def pack(content: Any, cap: int = CAP) -> tuple[bytes | None, dict[str, Any]]:
    """The compressed tree (None if it is too large), with its hash and size."""
    text = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
    packed = zstandard.compress(text)
    kept = len(packed) <= cap
    return packed if kept else None, {"hash": content_id("tre", content), "bytes": len(text), "stored": kept}


def unpack(packed: bytes) -> Any:
    return orjson.loads(zstandard.decompress(packed))


def read_plan(packed: bytes | None, phase: str) -> Plan:
    """A stored physical plan, `initial` or `final`. It has no operators if it was too large to keep."""
    nodes = unpack(packed)[phase] if packed is not None else []
    return Plan(
        phase, tuple(PlanNode(i, parent, kind, detail) for i, (parent, kind, detail) in enumerate(nodes)), "store"
    )
