"""Shallow clones of pinned tables in the store's area, where a layout is tried; removed afterwards, also after a crash.

Each clone is a folder `_clones/ID` with a mark beside it, `_clones/ID.planopt`, written first and removed last. Its
owner holds a lock on the mark. A mark that nobody holds is left over from a process that ended: `sweep` removes the
folder, then the mark. A folder without a mark was not made by planopt and stays.

A run that has pinned versions leaves a mark too, without a folder: planopt's own VACUUM asks for them.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from planopt_assets.engine.delta.failures import failures, first_line
from planopt_assets.errors import LayoutNotTried
from planopt_assets.model.inputs import PinnedTable
from planopt_assets.model.location import is_folder, plain_path
from planopt_assets.store.crash_points import reached

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = "_clones"
MARK = ".planopt"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


@dataclass(frozen=True, slots=True)
class Mark:
    """Whose files are needed: of each table that a run has pinned or cloned, those of this version."""

    id: str
    needs: Mapping[str, int] | None  # location -> version; None: its process ended before it was written

    def needs_of(self, location: str, newest: int) -> int | None:
        """The version of a table that is needed and no longer the newest, so that VACUUM could take its files.

        >>> mark = Mark("run-1", {"/data/orders": 7})
        >>> mark.needs_of("/data/orders", 9), mark.needs_of("/data/orders", 7), mark.needs_of("/data/parts", 9)
        (7, None, None)
        """
        version = (self.needs or {}).get(plain_path(location))
        return version if version is not None and version < newest else None


class Clones:
    """All clones of one store."""

    def __init__(self, store: str) -> None:
        self._store = store

    @property
    def _folder(self) -> Path:
        if not is_folder(self._store):
            raise LayoutNotTried(
                f"the store {self._store} is no folder of this machine",
                where="clones",
                fix="keep the store on a file system that this machine mounts",
            )
        return Path(self._store) / FOLDER

    @contextmanager
    def cloned(self, spark: SparkSession, table: PinnedTable, clone_id: str) -> Iterator[PinnedTable]:
        """A shallow clone of the pinned version while the block runs; the table itself is only read."""
        with self.holding([table], clone_id):
            reached("after_clone_mark")
            yield _clone(spark, table, self._folder / clone_id)

    @contextmanager
    def holding(self, tables: Iterable[PinnedTable], hold_id: str) -> Iterator[Path]:
        """While the block runs, planopt's own VACUUM leaves the files of these versions; the mark says so.

        A clone of that id goes with it. If its folder cannot be removed now, the mark stays for the next sweep.
        """
        if not _ID.fullmatch(hold_id):
            raise ValueError(f"{hold_id!r} is no id of a mark")
        self._folder.mkdir(parents=True, exist_ok=True)
        mark = self._folder / f"{hold_id}{MARK}"
        with _locked(mark) as held:
            held.write(json.dumps({plain_path(t.location): t.version for t in tables}))
            held.flush()
            try:
                yield mark
            finally:
                _removed(self._folder / hold_id, mark)

    def marks(self) -> list[Mark]:
        """Every mark that is there, in use or left over."""
        return [mark for _, mark in self._marked()]

    def sweep(self) -> list[str]:
        """Remove what ended processes left, and return the ids; clones in use and folders of others stay."""
        return [mark.id for file, mark in self._marked() if self._swept(file, mark)]

    def _swept(self, file: Path, mark: Mark) -> bool:
        try:
            held = file.open()
        except FileNotFoundError:  # its owner has ended since it was listed
            return False
        with held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:  # its owner lives
                return False
            return _removed(self._folder / mark.id, file)

    def _marked(self) -> list[tuple[Path, Mark]]:
        if not is_folder(self._store) or not self._folder.is_dir():
            return []
        files = [file for file in sorted(self._folder.glob(f"*{MARK}")) if _ID.fullmatch(file.stem)]
        return [(file, Mark(file.stem, _needs(file))) for file in files]


def _locked(mark: Path) -> TextIO:
    """A new mark with its lock. A sweep that comes between the two takes it for left over: then it is made again."""
    while True:
        held = mark.open("x")
        fcntl.flock(held, fcntl.LOCK_EX)
        if mark.exists() and os.path.samestat(os.fstat(held.fileno()), mark.stat()):
            return held
        held.close()


def _clone(spark: SparkSession, table: PinnedTable, folder: Path) -> PinnedTable:
    from delta.tables import DeltaTable

    from planopt_assets.engine.delta.delta_log import read_table_facts
    from planopt_assets.engine.delta.pins import pinned

    try:
        source = DeltaTable.forPath(spark, table.location)
        source.cloneAtVersion(table.version, str(folder), isShallow=True)
    except failures() as error:
        raise LayoutNotTried(
            f"it cannot be cloned: {first_line(error)}",
            where=f"table {table.name}",
            fix="check that the version's files are still there, and that the store can be written",
        ) from error
    reached("after_clone")
    return pinned(table.name, str(folder), read_table_facts(table.name, str(folder)))


def _removed(folder: Path, mark: Path) -> bool:
    """Remove the folder, then its mark; False: not all of it goes now, so the mark stays and the next sweep gets it.

    A JVM that still ends may write into the folder, and a file system may be full or read-only for a while.
    """
    try:
        if folder.is_symlink():
            folder.unlink()  # never what it leads to
        elif folder.exists():
            shutil.rmtree(folder)
            reached("after_clone_folder_removed")
        mark.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _needs(file: Path) -> dict[str, int] | None:
    try:
        return {str(location): int(version) for location, version in json.loads(file.read_text()).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return None
