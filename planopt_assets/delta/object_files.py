"""Object storage as a file system of Arrow, for those who read tables. It writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow.fs import FileInfo, FileType

from planopt_assets.delta.object_storage import asked
from planopt_assets.delta.read_only_files import Parts, ReadOnlyFiles
from planopt_assets.delta.side_by_side import side_by_side

if TYPE_CHECKING:
    from pyarrow.fs import FileSelector

    from planopt_assets.delta.object_storage import Objects

WHOLE_BYTES = 8 * 1024**2
"""A file up to this size comes with one request. A larger one is read in parts, as they are needed."""
LISTED_FILES = 16
"""For more than these the whole place is listed."""


class ObjectFiles(ReadOnlyFiles):
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
        return pa.PythonFile(Parts(found, partial(self._part, path)), mode="r")

    def open_input_stream(self, path: str) -> Any:
        return self.open_input_file(path)

    def _fetch(self, path: str) -> bytes | int:
        """The content of a file, or the size of a large one."""
        import obstore

        with asked():
            found = obstore.get(self._place.store, self._place.key(path))
            size = found.meta["size"]
            return bytes(found.bytes()) if size <= WHOLE_BYTES else size

    def _part(self, path: str, start: int, end: int) -> bytes:
        import obstore

        with asked():
            return bytes(obstore.get_range(self._place.store, self._place.key(path), start=start, end=end))
