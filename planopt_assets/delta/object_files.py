"""Object storage as a file system of Arrow, for those who read tables. It writes nothing."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
from pyarrow.fs import FileInfo, FileSystemHandler, FileType

from planopt_assets.delta.object_storage import asked
from planopt_assets.delta.side_by_side import side_by_side

if TYPE_CHECKING:
    from pyarrow.fs import FileSelector

    from planopt_assets.delta.object_storage import Objects

WHOLE_BYTES = 8 * 1024**2
"""A file up to this size comes with one request. A larger one is read in parts, as they are needed."""
LISTED_FILES = 16
"""For more than these the whole place is listed."""


class ObjectFiles(FileSystemHandler):
    """By paths relative to a place. Some may be fetched at once, as far as they are small."""

    def __init__(self, place: Objects, fetched: Sequence[str] = ()) -> None:
        self._place = place
        self._fetched = dict(zip(fetched, side_by_side(self._fetch, fetched), strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectFiles) and other._place.location == self._place.location

    __hash__ = None  # type: ignore[assignment]

    def get_type_name(self) -> str:
        return "planopt+objects"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: Sequence[str]) -> list[FileInfo]:
        sizes = self._place.all_sizes() if len(paths) > LISTED_FILES else self._sizes(paths)
        return [
            FileInfo(path, FileType.File, size=sizes[path]) if path in sizes else FileInfo(path, FileType.NotFound)
            for path in paths
        ]

    def _sizes(self, paths: Sequence[str]) -> dict[str, int]:
        import obstore

        found = {}
        with asked():
            for path in paths:
                with suppress(FileNotFoundError):
                    found[path] = obstore.head(self._place.store, self._place.key(path))["size"]
        return found

    def get_file_info_selector(self, selector: FileSelector) -> list[FileInfo]:
        """Only files: object storage has no folders. So none is missing either."""
        above = f"{selector.base_dir}/" if selector.base_dir else ""
        sizes = self._place.sizes(selector.base_dir)
        return [FileInfo(f"{above}{name}", FileType.File, size=size) for name, size in sizes.items()]

    def open_input_file(self, path: str) -> Any:
        found = self._fetched.get(path) or self._fetch(path)
        if isinstance(found, bytes):
            return pa.BufferReader(found)
        return pa.PythonFile(_Parts(self._place, path, found), mode="r")

    def open_input_stream(self, path: str) -> Any:
        return self.open_input_file(path)

    def _fetch(self, path: str) -> bytes | int:
        """The content of a file, or the size of a large one."""
        import obstore

        with asked():
            found = obstore.get(self._place.store, self._place.key(path))
            size = found.meta["size"]
            return bytes(found.bytes()) if size <= WHOLE_BYTES else size

    def _not_here(self, *_: Any) -> NoReturn:
        raise NotImplementedError("object storage is written by delta-rs and by the place itself")

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = delete_file = _not_here
    move = copy_file = open_output_stream = open_append_stream = _not_here


class _Parts(io.RawIOBase):
    """A file that is read in parts."""

    def __init__(self, place: Objects, path: str, size: int) -> None:
        self._place, self._path, self._size, self._at = place, path, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        import obstore

        end = self._size if size < 0 else min(self._at + size, self._size)
        if end <= self._at:
            return b""
        with asked():
            store, key = self._place.store, self._place.key(self._path)
            part = bytes(obstore.get_range(store, key, start=self._at, end=end))
        self._at = end
        return part
