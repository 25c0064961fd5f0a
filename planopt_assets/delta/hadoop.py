"""A file system that Spark writes: HDFS, and whatever else Hadoop has a client for.

delta-rs does not know these. So a table of the store is copied to a folder of this process before delta-rs opens it,
each time only what is new: neither a commit nor a data file ever changes. Of users' tables only the log is read, and
that directly.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import unquote

from planopt_assets.delta.place import LOG, Folder, Place

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyarrow.fs import FileSystem

    from planopt_assets.delta.hadoop_client import HadoopClient, RemoteFile

_COPIED: dict[Path, RemoteFile] = {}
"""What is on this machine, as it was when it was copied."""


class Hadoop(Place):
    """No small file is kept there."""

    @cached_property
    def files(self) -> FileSystem:
        from pyarrow.fs import PyFileSystem

        from planopt_assets.delta.hadoop_files import HadoopFiles

        return PyFileSystem(HadoopFiles(self._client, self.location))

    def has_table(self) -> bool:
        return self._client.exists(f"{self.location}/{LOG}")

    def table(self) -> DeltaTable:
        """As of now: first the log is copied, then the data files it names."""
        self._copy_log()
        table = Folder(str(self._copy)).table()
        for uri in table.file_uris():
            name = unquote(uri).rpartition("/")[2]
            if not (self._copy / name).exists():
                self._client.copy(f"{self.location}/{name}", self._copy / name)
        return table

    @cached_property
    def _client(self) -> HadoopClient:
        from planopt_assets.delta.hadoop_client import HadoopClient

        return HadoopClient(self.location)

    @cached_property
    def _copy(self) -> Path:
        return Path(_copies(os.getpid()), hashlib.sha256(self.location.encode()).hexdigest()[:16])

    def _copy_log(self) -> None:
        """`_last_checkpoint` is the one file that changes; a log that was cleaned up loses files."""
        log = self._copy / LOG
        there = self._client.listed(f"{self.location}/{LOG}", below=True) or {}
        log.mkdir(parents=True, exist_ok=True)
        for local in [p for p in log.rglob("*") if p.is_file() and str(p.relative_to(log)) not in there]:
            local.unlink()
        for path, file in there.items():
            if _COPIED.get(log / path) != file:
                self._client.copy(f"{self.location}/{LOG}/{path}", log / path)
                _COPIED[log / path] = file

    def _only_spark(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError("only Spark writes there, and only tables")

    read = sizes = replace = create = remove = remove_folder = _only_spark


@cache
def _copies(pid: int) -> str:
    """A folder of this process, removed when it ends; a forked child makes one of its own."""
    folder = tempfile.mkdtemp(prefix="planopt-hadoop-")
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == pid else None)
    return folder
