"""How planopt's own tables are written: compression, row groups and file size, the same by delta-rs and by Spark.

Rows are few and mostly JSON texts that resemble each other. zstd makes them about half as large as snappy, and
readers take no longer. A snapshot filters whole files, so that row groups are as large as files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from planopt_assets.model.location import Reach, reach

if TYPE_CHECKING:
    from deltalake import WriterProperties

COMPRESSION: Final = "ZSTD"
LEVEL: Final = 3
ROW_GROUP: Final = 128 * 1024  # rows
FILE_BYTES: Final = 64 * 1024**2  # of a compacted table


def settings(location: str) -> dict[str, str | None]:
    """The properties of a new table. Each commit since the last checkpoint is a request to object storage."""
    return {"delta.checkpointInterval": "10"} if reach(location) is Reach.OBJECTS else {}


def writer_properties() -> WriterProperties:
    """For delta-rs, which is loaded only where something is written."""
    from deltalake import WriterProperties

    return WriterProperties(compression=COMPRESSION, compression_level=LEVEL, max_row_group_size=ROW_GROUP)
