"""From the actions of a Delta log to `TableFacts`: plain JSON in, facts out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from planopt_assets.model.table_facts import Column, Constraint, Identity, Protocol, TableFacts

# Properties that Delta defines and a person may set. Omitted: those that can point to other systems or hold credentials
# (`coordinatedCommits`, `redirect…`), and Delta's internal ones (`columnMapping.maxColumnId`, …).
SAFE_PROPERTIES = frozenset(
    f"delta.{name}"
    for name in (
        *("appendOnly", "autoOptimize", "autoOptimize.autoCompact", "autoOptimize.optimizeWrite"),
        *("castIcebergTimeType", "checkpoint.writeStatsAsJson", "checkpoint.writeStatsAsStruct"),
        *("checkpointInterval", "checkpointPolicy", "checkpointRetentionDuration", "columnMapping.mode"),
        *("compatibility.symlinkFormatManifest.enabled", "dataSkippingNumIndexedCols", "dataSkippingStatsColumns"),
        *("dataSkippingStringPrefixLength", "deletedFileRetentionDuration", "enableChangeDataFeed"),
        *("enableDeletionVectors", "enableExpiredLogCleanup", "enableFullRetentionRollback"),
        *("enableIcebergCompatV1", "enableIcebergCompatV2", "enableIcebergCompatV3", "enableInCommitTimestamps"),
        *("enableRowTracking", "enableTypeWidening", "enableVariantShredding", "isolationLevel"),
        *("logRetentionDuration", "parquet.format.version", "randomizeFilePrefixes", "randomPrefixLength"),
        *("rowTrackingSuspended", "sampleRetentionDuration", "setTransactionRetentionDuration"),
        *("universalFormat.enabledFormats", "writePartitionColumnsToParquet"),
    )
)
INDEXED_COLUMNS = 32  # Delta's default for `delta.dataSkippingNumIndexedCols`
_CHECK = "delta.constraints."
_PHYSICAL = "delta.columnMapping.physicalName"

Json = dict[str, Any]
Path = tuple[str, ...]


def protocol_of(action: Json) -> Protocol:
    return Protocol.of(
        action["minReaderVersion"],
        action["minWriterVersion"],
        action.get("readerFeatures") or (),
        action.get("writerFeatures") or (),
    )


def table_facts(
    name: str,
    location: str,
    version: int,
    *,
    protocol: Json,
    metadata: Json,
    domains: Mapping[str, str],
    committed_at_ms: int | None,
    files: int | None,
    size: int | None,
    head: str | None = None,
    rows_head: str | None = None,
) -> TableFacts:
    """Facts from a table's newest `protocol` and `metaData` actions and its metadata domains."""
    fields: list[Json] = json.loads(metadata["schemaString"])["fields"]
    configuration: dict[str, str] = metadata.get("configuration") or {}
    partitions = tuple(metadata.get("partitionColumns") or ())
    columns = tuple(_column(field) for field in fields)
    return TableFacts(
        name=name,
        location=location,
        table_id=str(metadata["id"]),
        version=version,
        protocol=protocol_of(protocol),
        columns=columns,
        partition_columns=partitions,
        clustering_columns=_clustering(fields, domains),
        constraints=tuple(sorted({*_of_columns(columns), *_of_fields(fields), *_checks(configuration)})),
        statistics_columns=_statistics([f for f in fields if f["name"] not in partitions], configuration),
        properties=tuple(sorted((k, v) for k, v in configuration.items() if k in SAFE_PROPERTIES)),
        provider=str((metadata.get("format") or {}).get("provider") or "parquet"),
        description=metadata.get("description"),
        committed_at_ms=committed_at_ms,
        files=files,
        bytes=size,
        head=head,
        rows_head=rows_head,
    )


def type_text(kind: Any) -> str:
    """A type without Delta's annotations (mapped names, comments, past types).

    >>> type_text({"type": "array", "elementType": "long", "containsNull": True})
    '{"containsNull":true,"elementType":"long","type":"array"}'
    """
    return kind if isinstance(kind, str) else json.dumps(_bare(kind), sort_keys=True, separators=(",", ":"))


def _bare(kind: Any) -> Any:
    if isinstance(kind, dict):
        return {key: _bare(value) for key, value in kind.items() if key != "metadata"}
    return [_bare(value) for value in kind] if isinstance(kind, list) else kind


def _column(field: Json) -> Column:
    notes = field["metadata"]
    identity = None
    if "delta.identity.start" in notes:
        identity = Identity(
            notes["delta.identity.start"], notes["delta.identity.step"], notes["delta.identity.allowExplicitInsert"]
        )
    return Column(
        name=field["name"],
        type=type_text(field["type"]),
        nullable=field["nullable"],
        comment=notes.get("comment"),
        generated=notes.get("delta.generationExpression"),
        identity=identity,
        default=notes.get("CURRENT_DEFAULT"),
        length=notes.get("__CHAR_VARCHAR_TYPE_STRING"),
        physical_name=notes.get(_PHYSICAL),
    )


# Constraints


def _of_columns(columns: tuple[Column, ...]) -> Iterator[Constraint]:
    for column in columns:
        if column.generated is not None:
            yield Constraint("generated", column.name, column.generated)
        if column.identity is not None:
            how = "BY DEFAULT" if column.identity.explicit_insert else "ALWAYS"
            counts = f"START WITH {column.identity.start} INCREMENT BY {column.identity.step}"
            yield Constraint("identity", column.name, f"GENERATED {how} AS IDENTITY ({counts})")
        if column.length is not None:
            yield Constraint("length", column.name, column.length)


def _of_fields(fields: list[Json]) -> Iterator[Constraint]:
    """Constraints on fields, also inside structs. Inside arrays and maps Delta enforces nothing."""
    for path, field in _walk(fields):
        if not field["nullable"]:
            yield Constraint("not_null", dotted(path), "IS NOT NULL")
        if invariant := field["metadata"].get("delta.invariants"):
            yield Constraint("invariant", dotted(path), json.loads(invariant)["expression"]["expression"])


def _checks(configuration: Mapping[str, str]) -> Iterator[Constraint]:
    for name, expression in configuration.items():
        if name.startswith(_CHECK):
            yield Constraint("check", name.removeprefix(_CHECK), expression)


# Columns by path


def dotted(path: Path) -> str:
    """A column as SQL writes it.

    >>> dotted(("address", "zip code"))
    'address.`zip code`'
    """
    return ".".join(p if re.fullmatch(r"\w*[A-Za-z_]\w*", p, re.ASCII) else f"`{p.replace('`', '``')}`" for p in path)


def _walk(fields: list[Json], above: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Every field and the fields of nested structs, in order, but not inside arrays and maps."""
    for field in fields:
        path = (*above, field["name"])
        yield path, field
        if _is_struct(field):
            yield from _walk(field["type"]["fields"], path)


def _is_struct(field: Json) -> bool:
    return isinstance(field["type"], dict) and field["type"]["type"] == "struct"


def _clustering(fields: list[Json], domains: Mapping[str, str]) -> tuple[str, ...]:
    """Clustering columns by their logical names. The log has the physical ones."""
    if "delta.clustering" not in domains:
        return ()
    wanted: list[list[str]] = json.loads(domains["delta.clustering"])["clusteringColumns"]
    return tuple(dotted(_logical(fields, physical)) for physical in wanted)


def _logical(fields: list[Json], physical: list[str]) -> Path:
    path: Path = ()
    for name in physical:
        field = {f["metadata"].get(_PHYSICAL, f["name"]): f for f in fields}[name]
        path = (*path, field["name"])
        fields = field["type"]["fields"] if _is_struct(field) else []
    return path


def _statistics(fields: list[Json], configuration: Mapping[str, str]) -> tuple[str, ...]:
    """The leaves with statistics: those that are named, or the first N. Partition columns need none."""
    leaves = [path for path, field in _walk(fields) if not _is_struct(field)]
    named = configuration.get("delta.dataSkippingStatsColumns")
    if named is not None:
        wanted = _column_list(named)
        return tuple(dotted(leaf) for leaf in leaves if any(_lower(leaf[: len(w)]) == w for w in wanted))
    first = int(configuration.get("delta.dataSkippingNumIndexedCols", INDEXED_COLUMNS))
    return tuple(dotted(leaf) for leaf in (leaves if first < 0 else leaves[:first]))


def _column_list(text: str) -> list[Path]:
    """The value of `delta.dataSkippingStatsColumns`: names separated by commas, quoted where needed.

    >>> _column_list("s.x, `a.b`")
    [('s', 'x'), ('a.b',)]
    """
    columns = re.findall(r"(?:`(?:[^`]|``)*`|[^,`])+", text)
    parts = [re.findall(r"`((?:[^`]|``)*)`|([^.`\s][^.`]*)", column) for column in columns]
    return [_lower(tuple((quoted.replace("``", "`") or plain).strip() for quoted, plain in p)) for p in parts if p]


def _lower(path: Path) -> Path:
    return tuple(part.lower() for part in path)
