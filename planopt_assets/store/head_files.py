"""Small files beside the tables that say what was written last. They are never half there.

A table can lose its end without an error: with an empty or missing last commit it is just a shorter table. So what was
written last is kept a second time, in `<store>/_heads/`, and compared when a table is read. A head is written after its
commit. A head that is behind its table is no damage: a process ended in between, or an older planopt wrote.

A store that only Spark writes has no heads.
"""

from __future__ import annotations

import logging
import zlib
from dataclasses import dataclass
from typing import Any

import orjson

from planopt_assets.delta.place import place
from planopt_assets.delta.refusals import refusal

LOG = logging.getLogger("planopt")
FOLDER = "_heads"


class HeadUnreadable(Exception):
    """A head file exists, but is not what was written, or nobody can tell."""

    def __init__(self, file: HeadFile, why: str) -> None:
        self.file, self.why = file, why
        super().__init__(f"{file} {why}")


class HeadUnreachable(HeadUnreadable):
    """Object storage did not say whether there is a head. `why` names the request."""


@dataclass(frozen=True, slots=True)
class HeadFile:
    """A head, or a folder of heads, by its path below the store."""

    root: str
    path: str

    def __str__(self) -> str:
        return f"{self.root}/{self.path}"

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def read(self) -> dict[str, Any] | None:
        """The content. None: there is no such file. Two lines of JSON: the content, and its checksum."""
        try:
            found = place(self.root).read(self.path)
        except OSError as error:
            raise self._unread(error, "read") from error
        if found is None:
            return None
        content, _, checksum = found.partition(b"\n")
        if checksum.strip() != _checksum(content):
            raise HeadUnreadable(self, "is damaged: its checksum does not fit its content")
        told: dict[str, Any] = orjson.loads(content)
        return told

    def write(self, content: dict[str, Any], *, durable: bool = False) -> None:
        """Create or replace a head. `durable` is for what nothing else could tell after the machine lost power."""
        text = orjson.dumps(content)
        place(self.root).replace(self.path, b"\n".join((text, _checksum(text), b"")), durable=durable)

    def delete(self) -> None:
        place(self.root).remove(self.path)

    def listed(self) -> list[HeadFile]:
        """The files of a folder of heads."""
        try:
            return [HeadFile(self.root, f"{self.path}/{name}") for name in place(self.root).sizes(self.path)]
        except OSError as error:
            raise self._unread(error, "listed") from error

    def _unread(self, error: OSError, what: str) -> HeadUnreadable:
        if why := refusal(error):
            return HeadUnreachable(self, why)
        return HeadUnreadable(self, f"cannot be {what}: {error.strerror or error}")


def _checksum(content: bytes) -> bytes:
    return orjson.dumps({"crc32": zlib.crc32(content)})
