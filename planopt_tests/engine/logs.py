"""Delta logs written by hand: as small as a log can be, and in every state of damage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Json = dict[str, Any]

PROTOCOL: Json = {"minReaderVersion": 1, "minWriterVersion": 2}
ID: Json = {"name": "id", "type": "long", "nullable": True, "metadata": {}}


def protocol(*features: str, readers: list[str] | None = None) -> Json:
    """A protocol that names its features: all for writers, and those of `readers` (by default the same) for readers."""
    return {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": list(features) if readers is None else readers,
        "writerFeatures": list(features),
    }


def metadata(*fields: Json, **changes: Any) -> Json:
    schema = {"type": "struct", "fields": list(fields or (ID,))}
    return {
        "id": "a-table",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": 1,
        **changes,
    }


def add(path: str) -> Json:
    return {"add": {"path": path, "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}}


def log_of(table: Path) -> Path:
    return table / "_delta_log"


def commit_file(table: Path, version: int) -> Path:
    return log_of(table) / f"{version:020d}.json"


def commit(table: Path, version: int, *actions: Json, at: int | None = None) -> None:
    """One commit, with a `commitInfo` first if it has a time."""
    log_of(table).mkdir(parents=True, exist_ok=True)
    info = [] if at is None else [{"commitInfo": {"timestamp": at, "operation": "WRITE"}}]
    commit_file(table, version).write_text("".join(json.dumps(a) + "\n" for a in [*info, *actions]))


def table_of(folder: Path, *, protocol: Json = PROTOCOL, metadata: Json | None = None, commits: int = 1) -> Path:
    """A table whose first commit declares it; each further commit adds a file that does not exist."""
    declared = {"metaData": metadata if metadata is not None else _metadata()}
    commit(folder, 0, {"protocol": protocol}, declared, at=1000)
    for version in range(1, commits):
        commit(folder, version, add(f"{version}.parquet"), at=1000 + version)
    return folder


def write_checkpoint(file: Path, actions: list[Json]) -> None:
    """A checkpoint as writers without Delta's own columns leave it: one column per kind of action."""
    features = pa.list_(pa.string())
    texts = pa.map_(pa.string(), pa.string())
    of_protocol = [("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())]
    of_metadata = [("id", pa.string()), ("schemaString", pa.string()), ("partitionColumns", features)]
    schema = pa.schema(
        {
            "protocol": pa.struct([*of_protocol, ("readerFeatures", features), ("writerFeatures", features)]),
            "metaData": pa.struct([*of_metadata, ("configuration", texts)]),
            "add": pa.struct([("path", pa.string())]),
        }
    )
    rows = [
        {"metaData": {**a["metaData"], "configuration": list(a["metaData"]["configuration"].items())}}
        if "metaData" in a
        else a
        for a in actions
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema), file)


_metadata = metadata
