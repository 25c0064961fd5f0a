"""Purges details of observations that nobody has used for a long time. What evidence rests on is never purged.

Only the tables in `DETAILS` lose rows: operators, EXPLAIN texts and tasks of single observations. They are the bulk of
a store, and planopt itself reads none of them again. Observations, counters, trials, verdicts, decisions and
promotions stay for good: error budgets and history are made of them.

The last use of an observation is when it was stored, or when the newest row was that was made from it. Exceptions,
however old: of every query and binding the newest observation, and the newest one under original; and every
observation that the newest generation of a query's policy came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from planopt_assets.delta.place import data_files, place
from planopt_assets.errors import StoreWriteFailed
from planopt_assets.model.location import Reach, reach
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.store.compaction import committed, write_anew
from planopt_assets.store.opened import open_sound
from planopt_assets.store.schemas import TABLES
from planopt_assets.store.snapshot import refuse_newer

DETAILS = ("plan_nodes", "explains", "task_counters")
KEPT_DAYS = 180


@dataclass(frozen=True, slots=True)
class Seen:
    """One binding of an observation, as far as purging goes."""

    id: str
    of: tuple[str, str, int]  # workload, query, binding
    original: bool  # it ran without a policy
    at: datetime


@dataclass(frozen=True, slots=True)
class Purged:
    """The result for one table."""

    table: str
    rows_before: int
    rows_purged: int


def unused(
    seen: Iterable[Seen],
    made_from: Mapping[str, Iterable[str]],
    made_at: Mapping[str, datetime],
    in_force: Iterable[str],
    before: datetime,
) -> set[str]:
    """The observations whose last use is before a moment, without the exceptions.

    `made_from` leads from a row to its parents, `made_at` from a parent to the newest row that was made from it.
    """
    every = sorted(seen, key=lambda one: (one.at, one.id))
    newest = {one.of: one.id for one in every}
    original = {one.of: one.id for one in every if one.original}
    kept = {*newest.values(), *original.values(), *_ancestors(in_force, made_from)}
    return {one.id for one in every if one.id not in kept and max(one.at, made_at.get(one.id, one.at)) < before}


def _ancestors(rows: Iterable[str], made_from: Mapping[str, Iterable[str]]) -> set[str]:
    found: set[str] = set()
    left = list(rows)
    while left:
        row = left.pop()
        if row not in found:
            found.add(row)
            left += made_from.get(row, ())
    return found


def purge_store(root: str, now: datetime, *, days: float = KEPT_DAYS, dry_run: bool = False) -> list[Purged]:
    """Purge the store of every workload in it; one result per table that has such rows. Needs no Spark.

    Each table is written anew as the very next version: if a run writes to it meanwhile, it is an error and nothing
    of that table is purged.
    """
    if reach(root) is Reach.HADOOP:
        return []
    gone = _unused_in(root, now - timedelta(days=days))
    found = [_purged(root, name, gone, dry_run=dry_run) for name in DETAILS] if gone else []
    return [one for one in found if one is not None]


def _unused_in(root: str, before: datetime) -> set[str]:
    names = ("observation_id", "workload", "query_id", "binding", "policy_id", "recorded_at")
    observed = (row.values() for row in _rows(root, "plan_artifacts", *names))
    seen = [
        Seen(name, (workload, query, binding), policy == ORIGINAL.id, at)
        for name, workload, query, binding, policy, at in observed
    ]
    made_from: dict[str, list[str]] = {}
    made_at: dict[str, datetime] = {}
    for edge in _rows(root, "lineage", "child_id", "parent_id", "recorded_at"):
        child, parent, at = edge.values()
        made_from.setdefault(child, []).append(parent)
        made_at[parent] = max(made_at.get(parent, at), at)
    promotions = _rows(root, "active_policies", "workload", "query_id", "generation", "promotion_id")
    newest = {(p["workload"], p["query_id"]): p for p in sorted(promotions, key=lambda p: p["generation"])}
    return unused(seen, made_from, made_at, [p["promotion_id"] for p in newest.values()], before)


def _rows(root: str, name: str, *columns: str) -> list[dict[str, Any]]:
    """Of all workloads. A row that lacks one of these is damaged, which is told to those who decode it."""
    files = open_sound(root, name).files
    if not files:
        return []
    rows = place(f"{root}/{name}").dataset(files, TABLES[name]).to_table(columns=[*columns, "schema_version"])
    refuse_newer(root, name, rows["schema_version"])
    return [row for row in rows.select(columns).to_pylist() if None not in row.values()]


def _purged(root: str, name: str, gone: set[str], *, dry_run: bool) -> Purged | None:
    import pyarrow as pa
    import pyarrow.compute as pc
    from deltalake.exceptions import DeltaError

    table = open_sound(root, name, whole=not dry_run).table
    if table is None:
        return None
    rows = place(f"{root}/{name}").dataset(data_files(table), TABLES[name])
    unwanted = pc.field("observation_id").isin(pa.array(sorted(gone), pa.string()))
    number = rows.count_rows(filter=unwanted)
    if number == 0:
        return None
    found = Purged(name, rows.count_rows(), number)
    if not dry_run:
        try:
            write_anew(table, ~unwanted)
            committed(root, name)
        except (DeltaError, OSError) as error:
            said = (str(error).strip().splitlines() or [type(error).__name__])[0]
            fix = "wait until no run is in progress, and purge again"
            raise StoreWriteFailed(f"{name} was not purged: {said}", where=root, fix=fix) from error
    return found
