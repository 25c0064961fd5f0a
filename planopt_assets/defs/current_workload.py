"""The workload file as it is now, loaded again only when a file changed: sensors ask for it every few seconds."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from planopt_assets.engine.frames.callables import query_source
from planopt_assets.model.ids import content_id
from planopt_assets.model.inputs import query_fingerprint
from planopt_assets.workload import load_workload

if TYPE_CHECKING:
    from planopt_assets.model.inputs import QuerySource
    from planopt_assets.model.workload import Workload

_Mark = tuple[tuple[str, int, int, int], ...]


class CurrentWorkload:
    """One workload file. A thousand queries take half a second to load, and a look at the files a millisecond."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._kept: tuple[_Mark, Workload] | None = None

    def load(self) -> Workload:
        """The workload, or the error of a file that is wrong right now."""
        if self._kept is None or self._kept[0] != _mark(self._file, *self._kept[1].sql_files):
            self._kept = None
            before = _mark(self._file)
            workload = load_workload(Path(self._file))
            # The mark of before: a file that is written while it is read is read again the next time.
            self._kept = (before + _mark(*workload.sql_files), workload)
        return self._kept[1]

    def sources(self) -> dict[str, QuerySource]:
        """What defines each query."""
        workload = self.load()
        return {query.id: query_source(workload, query) for query in workload.queries}

    def identity(self) -> str:
        """Changes with every change of the files, also with one that changes nothing but the spelling."""
        workload = self.load()
        assert self._kept is not None
        modules = {
            query.id: query_fingerprint(query, query_source(workload, query))
            for query in workload.queries
            if query.python is not None
        }
        return content_id("wkl", {"files": [list(one) for one in self._kept[0]], "modules": modules})


@cache
def current_workload(file: str) -> CurrentWorkload:
    """The same for all sensors of a process."""
    return CurrentWorkload(file)


def _mark(*files: str) -> _Mark:
    return tuple(_stat(file) for file in files)


def _stat(file: str) -> tuple[str, int, int, int]:
    try:
        found = Path(file).stat()
    except OSError:
        return file, 0, 0, 0
    return file, found.st_mtime_ns, found.st_size, found.st_ino
