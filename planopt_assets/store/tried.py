"""Questions about many rows that Arrow answers without making nouns of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planopt_assets.store.snapshot import Snapshot


def tried_policies(snapshot: Snapshot, query_ids: Collection[str] | None = None) -> dict[str, frozenset[str]]:
    """Of each query, the ids of the policies that have trials."""
    pairs = snapshot.table("trials", ["query_id", "policy_id"], query_id=query_ids)
    found = pairs.group_by("query_id").aggregate([("policy_id", "distinct")])
    return {
        query: frozenset(policies)
        for query, policies in zip(found["query_id"].to_pylist(), found["policy_id_distinct"].to_pylist(), strict=True)
    }


def linked_promotions(snapshot: Snapshot) -> frozenset[str]:
    """The promotions whose lineage is stored."""
    return frozenset(snapshot.table("lineage", ["child_id"], stage="promote")["child_id"].to_pylist())


def table_bytes(snapshot: Snapshot, execution_ids: Collection[str]) -> dict[str, int | None]:
    """By execution, the bytes of all tables it read; None where nobody counted."""
    found = snapshot.table("runtime_counters", ["execution_id", "table_bytes"], execution_id=execution_ids)
    return dict(zip(found["execution_id"].to_pylist(), found["table_bytes"].to_pylist(), strict=True))


def linked_generations(snapshot: Snapshot) -> dict[str, int]:
    """Of each query, the last generation whose lineage is stored."""
    rows = snapshot.table("lineage", ["query_id", "child_id"], stage="promote")
    found: dict[str, int] = {}
    for query_id, child in zip(rows["query_id"].to_pylist(), rows["child_id"].to_pylist(), strict=True):
        generation = child.removeprefix(f"pro-{query_id}-g")
        if generation.isdigit():
            found[query_id] = max(found.get(query_id, 0), int(generation))
    return found
