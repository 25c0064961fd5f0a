"""Damages of a table that Spark reads over: found by comparing its log and its files with what their writers noted.

Delta notes files and bytes of a version in a checksum file, Hadoop a CRC-32 of each file beside it, Parquet a CRC-32 of
each page. Each is compared where it exists. Data is read up to a limit, because it takes as long as a full scan.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

from planopt_assets.delta.refusals import refusal
from planopt_assets.model.data_file import Damage, DataFile
from planopt_assets.model.location import is_folder

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

    from planopt_assets.delta.log_files import LogFiles

VERIFIED_BYTES = 64 * 1024**2
"""Data that is read to compare page checksums, for each table and look; about half a second."""
_HADOOP_MARK = b"crc\0"


def log_damages(log: LogFiles, version: int, files: Sequence[DataFile]) -> Iterator[Damage]:
    """The log against Delta's checksum file and Hadoop's checksums."""
    noted = log.checksum(version)
    counted = {"numFiles": len(files), "tableSizeBytes": sum(f.bytes for f in files)}
    for name, value in counted.items():
        if name in noted and noted[name] != value:
            yield Damage(
                f"its checksum file notes {name} = {noted[name]:,}, its commits add up to {value:,}: "
                "a commit lost lines, or was replaced",
                f"_delta_log/{version:020d}.crc",
            )
            break
    for lost in log.lost_commits:
        yield Damage(f"commit {lost} is gone, and its rows with it: only the checksum that Hadoop wrote is left")
    for name, content, checksum in log.with_hadoop_checksums(version):
        if not hadoop_agrees(content, checksum):
            yield Damage(f"commit {name} is not what was written: Hadoop's checksum differs", f"_delta_log/{name}")


def hadoop_agrees(content: bytes, checksum: bytes) -> bool:
    """Whether a file has the CRC-32s that Hadoop noted: one for each chunk, after a mark and the chunk's length.

    >>> hadoop_agrees(b"ab", b"crc\\0" + (512).to_bytes(4, "big") + zlib.crc32(b"ab").to_bytes(4, "big"))
    True
    """
    if not checksum.startswith(_HADOOP_MARK):
        return True  # of another kind: it says nothing
    length = int.from_bytes(checksum[4:8], "big")
    chunks = [content[at : at + length] for at in range(0, len(content), length)]
    return checksum[8:] == b"".join(zlib.crc32(chunk).to_bytes(4, "big") for chunk in chunks)


def file_damages(
    folder: FileSystem, files: Sequence[DataFile], *, most_bytes: int | None = VERIFIED_BYTES
) -> Iterator[Damage]:
    """Data files against the log: there, of the noted size, and with whole pages; `most_bytes` None reads all."""
    own = [f for f in files if is_folder(f.path) and not f.path.startswith("/")]
    infos = folder.get_file_info([unquote(f.path) for f in own])
    whole = []
    for file, info in zip(own, infos, strict=True):
        if not info.is_file:
            yield Damage("a data file is gone: every query that needs it fails", file.path)
        elif info.size != file.bytes:
            yield Damage(f"a data file has {info.size:,} bytes, its log notes {file.bytes:,}", file.path)
        else:
            whole.append(file)
    left = most_bytes
    for file in sorted(whole, key=lambda f: hashlib.sha256(f.path.encode()).digest()):
        if left is not None and (left := left - file.bytes) < 0:
            return
        if words := _unreadable(folder, unquote(file.path)):
            yield Damage(f"a data file is not what was written: {words}", file.path)


def _unreadable(folder: FileSystem, path: str) -> str:
    """What is wrong with the pages of a Parquet file; only the checksums of pages are of interest, not the values."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with folder.open_input_file(path) as source:
            parquet = pq.ParquetFile(source, page_checksum_verification=True)
            for group in range(parquet.num_row_groups):
                parquet.read_row_group(group, use_threads=False)
    except pa.ArrowNotImplementedError:  # an encoding that Arrow does not read says nothing
        return ""
    except (OSError, pa.ArrowException) as error:
        if refusal(error):
            raise
        return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
    return ""
