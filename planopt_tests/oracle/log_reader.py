"""A Delta log read with the standard library and Arrow alone: which files a version has, and what it says of them.

Neither Spark nor delta-rs takes part, so that what they say can be compared with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_COMMIT = re.compile(r"^(\d{20})\.json$")
_CHECKPOINT = re.compile(r"^(\d{20})\.checkpoint(\.\d{10}\.\d{10})?\.parquet$")
_DECIMAL = re.compile(r"^decimal\((\d+),(\d+)\)$")
_PARTS = ("minValues", "maxValues", "nullCount")
_ARROW = {
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}

Action = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """What the log says of one column, one entry per file; null where it says nothing."""

    low: pa.Array
    high: pa.Array
    nulls: pa.Array
    physical: str  # its name in files and statistics; another one under column mapping
    is_partition: bool


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files of one version of a table, in the order of their paths."""

    version: int
    paths: pa.Array
    sizes: pa.Array
    rows: pa.Array
    deleted: pa.Array  # rows a deletion vector hides; null where a file has none
    columns: Mapping[str, Column]  # by the name a query uses, struct fields dotted

    def __len__(self) -> int:
        return len(self.paths)


def read_log(table: Path, version: int | None = None) -> Snapshot:
    """Replay the log of the table in this folder up to `version` (the newest if none is given)."""
    at, actions = _actions(table / "_delta_log", version)
    metadata: Action = {}
    live: dict[tuple[str, str], Action] = {}
    for action in actions:
        if found := action.get("metaData"):
            metadata = found
        if found := action.get("remove"):
            live.pop(_key(found), None)
        if found := action.get("add"):
            live[_key(found)] = found
    return _snapshot(at, metadata, [live[key] for key in sorted(live)])


def _actions(log: Path, version: int | None) -> tuple[int, Iterator[Action]]:
    """The newest checkpoint that is not too new, then every commit after it."""
    names = sorted(p.name for p in log.iterdir())
    commits = {int(m[1]): log / m[0] for m in map(_COMMIT.match, names) if m}
    checkpoints: dict[int, list[Path]] = {}
    for match in filter(None, map(_CHECKPOINT.match, names)):
        checkpoints.setdefault(int(match[1]), []).append(log / match[0])
    last = max([*commits, *checkpoints]) if version is None else version
    start = max((v for v in checkpoints if v <= last), default=-1)

    def read() -> Iterator[Action]:
        for part in checkpoints.get(start, []):
            yield from pq.read_table(part, columns=["metaData", "add", "remove"]).to_pylist()
        for at in range(start + 1, last + 1):
            yield from map(json.loads, commits[at].read_text().splitlines())

    return last, read()


def _key(action: Action) -> tuple[str, str]:
    """A file may be live twice in one commit: removed without, added with a deletion vector."""
    vector = action.get("deletionVector")
    return action["path"], f"{vector['storageType']}{vector['pathOrInlineDv']}@{vector['offset']}" if vector else ""


def _snapshot(version: int, metadata: Action, files: list[Action]) -> Snapshot:
    stats = [json.loads(f["stats"], parse_float=Decimal) if f.get("stats") else {} for f in files]
    values = [dict(f["partitionValues"]) for f in files]
    rows = pa.array([s.get("numRecords") for s in stats], pa.int64())
    columns = {}
    for name, physical, kind in _leaves(json.loads(metadata["schemaString"])["fields"]):
        if name in metadata["partitionColumns"]:
            # An empty text stands for NULL: a folder cannot be called nothing.
            held = _typed([v.get(physical[0]) or None for v in values], kind)
            nulls = pc.if_else(held.is_null(), rows, 0)
            columns[name] = Column(held, held, nulls, ".".join(physical), is_partition=True)
        else:
            low, high, nulls = ([_at(s.get(part), physical) for s in stats] for part in _PARTS)
            columns[name] = Column(
                _typed(low, kind),
                _typed(high, kind),
                pa.array(nulls, pa.int64()),
                ".".join(physical),
                is_partition=False,
            )
    return Snapshot(
        version=version,
        paths=pa.array([f["path"] for f in files], pa.string()),
        sizes=pa.array([f["size"] for f in files], pa.int64()),
        rows=rows,
        deleted=pa.array([(f.get("deletionVector") or {}).get("cardinality") for f in files], pa.int64()),
        columns=columns,
    )


def _leaves(
    fields: list[Action], above: tuple[str, ...] = (), physical_above: tuple[str, ...] = ()
) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Dotted name, physical path and type of every column that can have a range."""
    for field in fields:
        path = (*above, field["name"])
        physical = (*physical_above, field["metadata"].get("delta.columnMapping.physicalName", field["name"]))
        kind = field["type"]
        if isinstance(kind, str):
            yield ".".join(path), physical, kind
        elif kind["type"] == "struct":
            yield from _leaves(kind["fields"], path, physical)


def _at(tree: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        tree = (tree or {}).get(name)
    return tree


def _typed(values: list[Any], kind: str) -> pa.Array:
    """The log's texts and numbers as Arrow values of the column's type."""
    texts = pa.array([None if v is None else str(v) for v in values], pa.string())
    if (decimal := _DECIMAL.match(kind)) is not None:
        return pc.cast(texts, pa.decimal128(int(decimal[1]), int(decimal[2])))
    return pc.cast(texts, _ARROW[kind])
