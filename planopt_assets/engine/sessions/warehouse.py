"""The folder of Spark's own catalog. Spark creates it at the start, and planopt's queries leave it empty.

By default it is `spark-warehouse` in the working folder. Here it is a temporary folder of the process.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path

import psutil

_PREFIX = "planopt-warehouse-"
_NAME = re.compile(rf"{_PREFIX}(\d+)-\w+")


def warehouse_of_process() -> str:
    """The folder of this process. All its sessions share it, and it is removed when the process ends."""
    return _warehouse(os.getpid())


@cache
def _warehouse(pid: int) -> str:
    remove_abandoned()
    folder = tempfile.mkdtemp(prefix=f"{_PREFIX}{pid}-")
    atexit.register(_remove, pid, folder)
    return folder


def _remove(pid: int, folder: str) -> None:
    if os.getpid() == pid:  # a forked child inherits this, and the folder is not the child's
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned() -> None:
    """Remove the empty folders of processes that were killed.

    A folder with files in it is kept. So nothing can be lost, even if the process lives where its id is not visible
    (another container with the same temp folder): Spark creates the folder again when it writes a table.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        named = _NAME.fullmatch(folder.name)
        if named and not psutil.pid_exists(int(named[1])):
            _remove_if_empty(folder)


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return  # it has files, belongs to somebody else, or another process was faster
