"""Small files beside the tables that say what was written last. They are never half there.

A table can lose its end without an error: with an empty or missing last commit it is just a shorter table. So what was
written last is kept a second time, in `<store>/_heads/`, and compared when a table is read. A head is written after its
commit. A head that is behind its table is no damage: a process ended in between, or an older planopt wrote.

Only a store on a file system has heads.
"""

from __future__ import annotations

import logging
import os
import uuid
import zlib
from pathlib import Path
from typing import Any

import orjson

LOG = logging.getLogger("planopt")
FOLDER = "_heads"


class HeadUnreadable(Exception):
    """A head file exists, but is not what was written."""

    def __init__(self, file: Path, why: str) -> None:
        self.file = file
        super().__init__(f"{file} {why}")


def on_files(root: str) -> bool:
    """Whether a store is on a file system, as its path is written."""
    return "://" not in root


def read_head(file: Path) -> dict[str, Any] | None:
    """The content of a head. None: there is no such file. Two lines of JSON: the content, and its checksum."""
    try:
        content, _, checksum = file.read_bytes().partition(b"\n")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise HeadUnreadable(file, f"cannot be read: {error.strerror}") from error
    if checksum.strip() != _checksum(content):
        raise HeadUnreadable(file, "is damaged: its checksum does not fit its content")
    found: dict[str, Any] = orjson.loads(content)
    return found


def write_head(file: Path, content: dict[str, Any], *, durable: bool = False) -> None:
    """Create or replace a head: written under another name, then renamed. `durable`: forced to the disk before.

    Forcing takes milliseconds. It is for what nothing else could tell after the machine lost power.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    text = orjson.dumps(content)
    new = file.with_name(f".{uuid.uuid4().hex}")
    try:
        with new.open("wb") as target:
            target.write(b"\n".join((text, _checksum(text), b"")))
            if durable:
                target.flush()
                os.fsync(target.fileno())
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)


def _checksum(content: bytes) -> bytes:
    return orjson.dumps({"crc32": zlib.crc32(content)})
