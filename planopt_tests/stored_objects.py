"""What the objects of a store hold, unpacked: a search of raw bytes finds nothing in compressed Parquet."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
import zstandard

from planopt_tests.s3_server import S3

_PACKED = b"\x28\xb5\x2f\xfd"  # how zstd begins


def objects_with(s3: S3, root: str, *words: str) -> list[str]:
    """The objects below a store that hold one of these words: in a row, in a packed plan, in the log, in a name."""
    bucket = root.removeprefix("s3://").partition("/")[0]
    found = []
    for key in s3.keys(root):
        texts = [key, *_texts(key, s3.get(f"s3://{bucket}/{key}"))]
        if any(word in text for word in words for text in texts):
            found.append(key)
    return found


def _texts(key: str, content: bytes) -> Iterator[str]:
    yield content.decode("utf-8", "replace")
    if key.endswith(".parquet"):
        yield from (text for row in pq.read_table(io.BytesIO(content)).to_pylist() for text in _within(row))


def _within(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.items())
    if isinstance(value, list | tuple):
        for one in value:
            yield from _within(one)
    elif isinstance(value, bytes):
        packed = value.startswith(_PACKED)
        yield (zstandard.decompress(value) if packed else value).decode("utf-8", "replace")
    else:
        yield str(value)
