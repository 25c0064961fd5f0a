"""What all file systems of Arrow that planopt only reads through have in common."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, NoReturn

from pyarrow.fs import FileSystemHandler


class ReadOnlyFiles(FileSystemHandler):
    """Arrow asks for every method of a file system, and planopt writes through none of them."""

    def _not_here(self, *_: Any) -> NoReturn:
        raise NotImplementedError("these files are written by delta-rs, by Spark or by the place itself")

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = delete_file = _not_here
    move = copy_file = open_output_stream = open_append_stream = _not_here


class Parts(io.RawIOBase):
    """A file that is read in parts: `part` gives the bytes from a start to an end."""

    def __init__(self, size: int, part: Callable[[int, int], bytes]) -> None:
        self._size, self._part, self._at = size, part, 0

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
        end = self._size if size < 0 else min(self._at + size, self._size)
        if end <= self._at:
            return b""
        found = self._part(self._at, end)
        self._at += len(found)
        return found
