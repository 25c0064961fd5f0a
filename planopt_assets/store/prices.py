"""Stored cost models, and the work of stored executions that one may be fitted to."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from planopt_assets.model.cost_model import Prices, Work
from planopt_assets.model.records import SharedContent
from planopt_assets.store.codecs.damage import decoded
from planopt_assets.store.codecs.observing import SHARED

if TYPE_CHECKING:
    from planopt_assets.store.snapshot import Snapshot

KIND = "cost_model"
MOST = 5_000  # executions, the newest; more tell nothing more
_OURS = ("observe", "trial")
_COUNTED = ("execution_id", "query_id", "cpu_ns", "input_rows", "scan_files", "tasks", "shuffle_blocks")


def stored_prices(snapshot: Snapshot) -> list[Prices]:
    """Of every cost model, oldest first."""
    return [
        decoded(partial(Prices.from_json, one.content), "provenance", "content", one.query_id, None)
        for one in snapshot.read(SHARED, kind=KIND)
    ]


def content_of(prices: Prices, query_id: str) -> SharedContent:
    """A cost model as it is stored, with the query whose decision named it first."""
    return SharedContent(query_id, KIND, prices.id, prices.to_json())


def executions_of_ours(snapshot: Snapshot) -> int:
    """How many executions observe and validate have stored."""
    return snapshot.table("runtime_counters", ["execution_id"], purpose=_OURS).num_rows


def measured_work(snapshot: Snapshot) -> list[Work]:
    """Of warm executions that planopt ran itself, oldest first. One with an unknown counter is left out."""
    warm_ups = set(snapshot.table("trials", ["trial_id"], warm_up=True)["trial_id"].to_pylist())
    rows = snapshot.table("runtime_counters", list(_COUNTED), purpose=_OURS)
    found = [
        Work(query, cpu, read, files, tasks, blocks)
        for row, query, cpu, read, files, tasks, blocks in zip(*(rows[c].to_pylist() for c in _COUNTED), strict=True)
        if row not in warm_ups and cpu and None not in (read, files, tasks, blocks)
    ]
    return found[-MOST:]
