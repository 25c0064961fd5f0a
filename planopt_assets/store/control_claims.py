"""At most one control run an hour for each query, also where several processes run it at once.

A claim is a new file, `<store>/_controls/<workload>/<query>.<hour>`: of two processes that create it, one does. A store
that only Spark writes has no such file: there each process keeps to the hour by itself.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from planopt_assets.delta.place import place

if TYPE_CHECKING:
    from planopt_assets.delta.place import Place

FOLDER = "_controls"
HOUR_S = 3600
_LAST: dict[tuple[str, str, str], float] = {}  # of this process
_LOCK = Lock()


def claim_control(root: str, workload: str, query_id: str, now_s: float) -> bool:
    """Whether this run may be the control of its hour. An error of the store means no."""
    key = (root, workload, query_id)
    with _LOCK:
        if now_s - _LAST.get(key, now_s - HOUR_S) < HOUR_S:
            return False
        store = place(root)
        if store.keeps_files and not _claimed(store, f"{FOLDER}/{workload}", query_id, now_s):
            return False
        _LAST[key] = now_s
        return True


def _claimed(store: Place, folder: str, query_id: str, now_s: float) -> bool:
    hour = int(now_s // HOUR_S)
    try:
        if now_s - _claimed_at(store, f"{folder}/{query_id}.{hour - 1}", hour) < HOUR_S:
            return False
        if not store.create(f"{folder}/{query_id}.{hour}", repr(now_s).encode()):
            return False
        for name in store.sizes(folder):
            query, _, old = name.rpartition(".")
            if query == query_id and old.isdigit() and int(old) < hour - 1:
                store.remove(f"{folder}/{name}")
    except OSError:
        return False
    return True


def _claimed_at(store: Place, path: str, next_hour: int) -> float:
    """When the hour before was claimed. A claim without a time, written at this moment, is as late as it can be."""
    claim = store.read(path)
    if claim is None:
        return float("-inf")
    try:
        return float(claim)
    except ValueError:
        return float(next_hour * HOUR_S)
