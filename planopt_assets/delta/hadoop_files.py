"""A file system of Hadoop as one of Arrow, for those who read tables. It writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow.fs import FileInfo, FileType

from planopt_assets.delta.read_only_files import Parts, ReadOnlyFiles

if TYPE_CHECKING:
    from pyarrow.fs import FileSelector

    from planopt_assets.delta.hadoop_client import HadoopClient

WHOLE_BYTES = 8 * 1024**2
"""A file up to this size is read at once. A larger one is read in parts, as they are needed."""


class HadoopFiles(ReadOnlyFiles):
    """By paths relative to a folder."""

    def __init__(self, client: HadoopClient, folder: str) -> None:
        self._client, self._folder = client, folder

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HadoopFiles) and other._folder == self._folder

    __hash__ = None  # type: ignore[assignment]

    def get_type_name(self) -> str:
        return "planopt+hadoop"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: Sequence[str]) -> list[FileInfo]:
        sizes = [(path, self._client.size(f"{self._folder}/{path}")) for path in paths]
        return [
            FileInfo(path, FileType.NotFound) if size is None else FileInfo(path, FileType.File, size=size)
            for path, size in sizes
        ]

    def get_file_info_selector(self, selector: FileSelector) -> list[FileInfo]:
        found = self._client.listed(f"{self._folder}/{selector.base_dir}".rstrip("/"), below=selector.recursive)
        if found is None and not selector.allow_not_found:
            raise FileNotFoundError(selector.base_dir)
        above = f"{selector.base_dir}/" if selector.base_dir else ""
        return [FileInfo(f"{above}{path}", FileType.File, size=file.size) for path, file in (found or {}).items()]

    def open_input_file(self, path: str) -> Any:
        whole = f"{self._folder}/{path}"
        size = self._client.size(whole)
        if size is None:
            raise FileNotFoundError(path)
        if size <= WHOLE_BYTES:
            return pa.BufferReader(self._client.read(whole, 0, size))
        return pa.PythonFile(Parts(size, lambda at, end: self._client.read(whole, at, end - at)), mode="r")

    def open_input_stream(self, path: str) -> Any:
        return self.open_input_file(path)
