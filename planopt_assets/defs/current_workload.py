"""The workload file as it is now, loaded again only when a file changed: sensors ask for it every few seconds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING

from planopt_assets.engine.frames.callables import query_source
from planopt_assets.model.ids import content_id
from planopt_assets.model.inputs import query_fingerprint
from planopt_assets.store.collector import collector_paused
from planopt_assets.workload import load_workload

if TYPE_CHECKING:
    from planopt_assets.model.inputs import QuerySource
    from planopt_assets.model.workload import Workload

_Mark = tuple[tuple[str, int, int, int], ...]
_NEW_NS = 60 * 10**9  # generous: the clock of a file system may be another one
_kept: dict[str, CurrentWorkload] = {}


@dataclass(frozen=True, slots=True)
class CurrentWorkload:
    """A workload, and the files it was loaded from as they were just before."""

    workload: Workload
    files: _Mark

    def sources(self) -> dict[str, QuerySource]:
        """What defines each query."""
        return {query.id: query_source(self.workload, query) for query in self.workload.queries}

    def identity(self) -> str:
        """Changes with every change of the files, also with one that changes nothing but the spelling."""
        modules = {
            query.id: query_fingerprint(query, query_source(self.workload, query))
            for query in self.workload.queries
            if query.python is not None
        }
        return content_id("wkl", {"files": [list(one) for one in self.files], "modules": modules})


def current_workload(file: str) -> CurrentWorkload:
    """The workload, or the error of a file that is wrong right now.

    A thousand queries take half a second to load, a look at the files a millisecond. Two threads may both load it.
    """
    kept = _kept.get(file)
    if kept is None or kept.files != _mark(file, kept.workload):
        kept = _kept[file] = _load(file, kept.workload if kept else None)
    return kept


def _load(file: str, before: Workload | None) -> CurrentWorkload:
    """Loaded after the look at its files: one that is written while it is read is read again the next time.

    SQL files that were not known before are looked at afterwards. If one of them is new, all is loaded once more.
    """
    files, started = _mark(file, before), time_ns()
    with collector_paused():
        workload = load_workload(Path(file))
    if workload.sql_files == (before.sql_files if before else ()):
        return CurrentWorkload(workload, files)
    found = _mark(file, workload)[1:]
    old = all(changed_at < started - _NEW_NS for _, changed_at, _, _ in found)
    return CurrentWorkload(workload, (files[0], *found)) if old else _load(file, workload)


def _mark(file: str, workload: Workload | None) -> _Mark:
    return tuple(_stat(one) for one in (file, *(workload.sql_files if workload else ())))


def _stat(file: str) -> tuple[str, int, int, int]:
    try:
        found = Path(file).stat()
    except OSError:
        return file, 0, 0, 0
    return file, found.st_mtime_ns, found.st_size, found.st_ino
