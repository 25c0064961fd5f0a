"""What commits of a table did to its files: those with planopt's mark, and those that changed layout but no rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from planopt_assets.delta.log_files import Json, LogFiles

MARK = "planopt"
"""The first word of `userMetadata` in every commit that planopt makes in a user's table; the action's id follows."""


def mark_of(action_id: str) -> str:
    """
    >>> mark_of("mnt-1f2e-orders")
    'planopt mnt-1f2e-orders'
    """
    return f"{MARK} {action_id}"


@dataclass(frozen=True, slots=True)
class FileChange:
    """Commits of one action, together: the first and last version, and the files that went and came."""

    first: int
    last: int
    files_removed: int
    bytes_removed: int
    files_added: int
    bytes_added: int
    changes_rows: bool


def marked_commits(location: str, after: int, action_id: str) -> FileChange | None:
    """What the commits with an action's mark did, of those after a version; None if there is none."""
    log = LogFiles(location, location)
    newest = log.newest()
    found: list[tuple[int, list[Json]]] = []
    for version in range(after + 1, newest + 1):
        actions = list(log.commit_actions(version))
        if any(a.get("commitInfo", {}).get("userMetadata") == mark_of(action_id) for a in actions):
            found.append((version, actions))
    if not found:
        return None
    every = [action for _, actions in found for action in actions]
    removed, added = ([a[kind] for a in every if kind in a] for kind in ("remove", "add"))
    return FileChange(
        found[0][0],
        found[-1][0],
        len(removed),
        sum(r.get("size") or 0 for r in removed),
        len(added),
        sum(a["size"] for a in added),
        any(changes_rows(actions) for _, actions in found),
    )


def marks_after(location: str, after: int) -> list[str]:
    """The ids of planopt's own actions that were committed after a version, each once, in their order."""
    log = LogFiles(location, location)
    infos = (
        a["commitInfo"] for v in range(after + 1, log.newest() + 1) for a in log.commit_actions(v) if "commitInfo" in a
    )
    texts = (str(info.get("userMetadata") or "") for info in infos)
    return list(dict.fromkeys(t.removeprefix(f"{MARK} ") for t in texts if t.startswith(f"{MARK} ")))


def is_own(actions: Iterable[Json]) -> bool:
    """Whether planopt made a commit."""
    texts = (str(a["commitInfo"].get("userMetadata") or "") for a in actions if "commitInfo" in a)
    return any(text.startswith(f"{MARK} ") for text in texts)


def changes_rows(actions: Iterable[Json]) -> bool:
    """Whether a commit may change what a query returns; OPTIMIZE marks every file as the same rows in other places.

    >>> changes_rows([{"commitInfo": {}}, {"add": {"dataChange": False}}, {"remove": {"dataChange": False}}])
    False
    >>> changes_rows([{"add": {"dataChange": True}}]), changes_rows([{"cdc": {}}]), changes_rows([])
    (True, True, False)
    """
    return any(
        "cdc" in action or any(action.get(kind, {}).get("dataChange", False) for kind in ("add", "remove"))
        for action in actions
    )


def rows_head(log: LogFiles, version: int) -> str:
    """The head of the newest commit up to a version that changed rows or schema: equal heads mean equal rows.

    Commits that move rows between files are passed over, and so is a RESTORE: it has the rows of the version it
    restored. Where the log no longer holds a commit, the version after it stands in: then a new layout may look like
    new rows, never the other way round.

    Worked: versions 3 (append), 4 (OPTIMIZE), 5 (RESTORE to 3) all have the head of version 3.
    """
    while True:
        actions = list(log.commit_actions(version))
        restored = _restored(actions)
        if restored is not None and restored < version and log.holds(restored):
            version = restored
        elif version == 0 or not log.holds(version - 1) or _changes(actions):
            return log.head(version)
        else:
            version -= 1


def _changes(actions: list[Json]) -> bool:
    """A commit without any action says nothing, so it is taken for a change; planopt changes properties, no schema."""
    new_metadata = any("metaData" in action for action in actions) and not is_own(actions)
    return not actions or changes_rows(actions) or new_metadata


def _restored(actions: list[Json]) -> int | None:
    info: Json = next((a["commitInfo"] for a in actions if "commitInfo" in a), {})
    version = info.get("operationParameters", {}).get("version") if info.get("operation") == "RESTORE" else None
    return int(version) if version is not None else None
