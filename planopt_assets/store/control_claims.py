"""At most one control run an hour for each query, also where several processes run it at once.

A claim is an empty-or-new file, `<store>/_controls/<workload>/<query>.<hour>`: of two processes that create it, one
does. A store that is not on a file system has no such file: there each process keeps to the hour by itself.
"""

from __future__ import annotations

from pathlib import Path
from threading import Lock

from planopt_assets.store.head_files import on_files

FOLDER = "_controls"
HOUR_S = 3600
_LAST: dict[tuple[str, str, str], float] = {}  # of this process
_LOCK = Lock()


def claim_control(root: str, workload: str, query_id: str, now_s: float) -> bool:
    """Whether this run may be the control of its hour. An error of the file system means no."""
    key = (root, workload, query_id)
    with _LOCK:
        if now_s - _LAST.get(key, now_s - HOUR_S) < HOUR_S:
            return False
        if on_files(root) and not _claimed(Path(root, FOLDER, workload), query_id, now_s):
            return False
        _LAST[key] = now_s
        return True


def _claimed(folder: Path, query_id: str, now_s: float) -> bool:
    hour = int(now_s // HOUR_S)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if now_s - _claimed_at(folder / f"{query_id}.{hour - 1}", hour) < HOUR_S:
            return False
        with (folder / f"{query_id}.{hour}").open("x") as claim:
            claim.write(repr(now_s))
        for old in folder.glob(f"{query_id}.*"):
            if old.suffix[1:].isdigit() and int(old.suffix[1:]) < hour - 1:
                old.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _claimed_at(file: Path, next_hour: int) -> float:
    """When the hour before was claimed. A claim without a time, written at this moment, is as late as it can be."""
    try:
        return float(file.read_text())
    except FileNotFoundError:
        return float("-inf")
    except ValueError:
        return float(next_hour * HOUR_S)
