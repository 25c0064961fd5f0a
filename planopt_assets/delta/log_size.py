"""The bytes of a table from its log, for tables whose writer leaves no checksum file."""

from __future__ import annotations

from collections.abc import Iterator

from planopt_assets.delta.log_files import Json, LogFiles

_FILES = ("add.path", "add.size", "sidecar.path")


def log_size(name: str, location: str, version: int) -> int:
    """The bytes of all files of a version: those of the newest checkpoint, and what the commits after it changed."""
    log, files = LogFiles(name, location), dict[str, int]()
    try:
        for checkpoint in log.checkpoint(version)[1]:
            for action in _listed(log, checkpoint):
                files[action["add"]["path"]] = action["add"]["size"]
        for commit in log.commits(version):
            for action in log.commit_actions(commit):
                if removed := action.get("remove"):
                    files.pop(removed["path"], None)
                if added := action.get("add"):
                    files[added["path"]] = added["size"]
        return sum(files.values())
    except (AttributeError, LookupError, TypeError) as error:  # JSON, but not what Delta writes
        raise log.damaged(f"its list of files at version {version} is malformed: {error!r}") from error


def _listed(log: LogFiles, checkpoint: str) -> Iterator[Json]:
    """The files that a checkpoint lists, itself or in files beside it."""
    for action in log.checkpoint_actions(checkpoint, _FILES):
        if action.get("add"):
            yield action
        elif sidecar := action.get("sidecar"):
            yield from _listed(log, f"_sidecars/{sidecar['path']}")
