"""What a Delta table says about itself at one version: protocol, schema, constraints, layout, settings.

All of it comes from the table's log, so it is known before anything is planned, and also for a table that this Spark
cannot read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planopt_assets.model.ids import content_id

# Numbered protocols imply features; from reader 3 and writer 7 on, a table lists its features itself.
_NAMED_READER, _NAMED_WRITER = 3, 7
_IMPLIED_BY_READER = {"columnMapping": 2}
_IMPLIED_BY_WRITER = {
    "appendOnly": 2,
    "invariants": 2,
    "checkConstraints": 3,
    "changeDataFeed": 4,
    "generatedColumns": 4,
    "columnMapping": 5,
    "identityColumns": 6,
}

# Session settings that change which files a Delta scan reads or how it splits them.
SCAN_SETTINGS = (
    "spark.databricks.delta.stats.limitPushdown.enabled",
    "spark.databricks.delta.stats.skipping",
    "spark.sql.files.maxPartitionBytes",
    "spark.sql.files.minPartitionNum",
    "spark.sql.files.openCostInBytes",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled",
    "spark.sql.parquet.enableVectorizedReader",
    "spark.sql.parquet.filterPushdown",
)
# Table properties of the same kind.
SCAN_PROPERTIES = (
    "delta.columnMapping.mode",
    "delta.dataSkippingNumIndexedCols",
    "delta.dataSkippingStatsColumns",
    "delta.dataSkippingStringPrefixLength",
    "delta.enableDeletionVectors",
    "delta.enableTypeWidening",
)


@dataclass(frozen=True, slots=True)
class Protocol:
    """What software must understand to read and to write a table; features are sorted and complete.

    >>> Protocol.of(2, 5)
    Protocol(min_reader=2, min_writer=5, reader_features=('columnMapping',), writer_features=('appendOnly', \
'changeDataFeed', 'checkConstraints', 'columnMapping', 'generatedColumns', 'invariants'))
    >>> Protocol.of(3, 7, ["deletionVectors"], ["deletionVectors", "appendOnly"]).writer_features
    ('appendOnly', 'deletionVectors')
    """

    min_reader: int
    min_writer: int
    reader_features: tuple[str, ...] = ()
    writer_features: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, min_reader: int, min_writer: int, reader_features: Iterable[str] = (), writer_features: Iterable[str] = ()
    ) -> Protocol:
        """From the log's own words, with the features that a version number implies."""
        readers, writers = set(reader_features), set(writer_features)
        if min_reader < _NAMED_READER:
            readers |= {name for name, since in _IMPLIED_BY_READER.items() if since <= min_reader}
        if min_writer < _NAMED_WRITER:
            writers |= {name for name, since in _IMPLIED_BY_WRITER.items() if since <= min_writer}
        return cls(min_reader, min_writer, tuple(sorted(readers)), tuple(sorted(writers)))

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(sorted({*self.reader_features, *self.writer_features}))


@dataclass(frozen=True, slots=True)
class Identity:
    """How an identity column counts; how far it has counted changes with every insert and is left out."""

    start: int
    step: int
    explicit_insert: bool


@dataclass(frozen=True, slots=True)
class Column:
    """One top-level column; `type` is Delta's own text: `long`, or JSON for structs, arrays and maps."""

    name: str
    type: str
    nullable: bool = True
    comment: str | None = None
    generated: str | None = None  # the expression
    identity: Identity | None = None
    default: str | None = None
    length: str | None = None  # `char(3)` or `varchar(5)`: Delta stores a string and checks its length
    physical_name: str | None = None  # with column mapping: what the column is called in the files


@dataclass(frozen=True, slots=True, order=True)
class Constraint:
    """A promise that Delta enforces on every write: what kind, on what, and its expression."""

    kind: str  # not_null, check, invariant, generated, identity, length
    subject: str  # the column, or the name of a CHECK
    expression: str


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A table at a version, in its own words."""

    name: str
    location: str
    table_id: str
    version: int
    protocol: Protocol
    columns: tuple[Column, ...]
    partition_columns: tuple[str, ...] = ()
    clustering_columns: tuple[str, ...] = ()
    constraints: tuple[Constraint, ...] = ()  # sorted
    statistics_columns: tuple[
        str, ...
    ] = ()  # leaves whose statistics new files get; ranges only where the type has an order
    properties: tuple[tuple[str, str], ...] = ()  # known `delta.*` names only, sorted: others may hold secrets
    provider: str = "parquet"
    description: str | None = None
    committed_at_ms: int | None = None  # as the writer noted it; for people, in no hash
    files: int | None = None  # None: no checksum file tells, and counting would read the whole log
    bytes: int | None = None
    head: str | None = None  # hash of the commit that made the version; of the checkpoint where that is gone
    rows_head: str | None = None  # the same of the newest commit that changed rows, not only their layout

    @property
    def ref(self) -> str:
        return f"{self.name}@v{self.version}"

    def property(self, name: str) -> str | None:
        return dict(self.properties).get(name)


def snapshot_hash(tables: Iterable[TableFacts], settings: Mapping[str, str]) -> str:
    """The identity of what a query reads and how it is scanned; of the settings only `SCAN_SETTINGS` count.

    A version should imply its protocol and schema. They go in all the same: a log that was rewritten in place (restored
    from a copy, say) keeps id and version.
    """
    return content_id(
        "snp",
        {
            "tables": sorted((_identity(t) for t in tables), key=lambda t: str(t["name"])),
            "scan": {name: settings[name] for name in SCAN_SETTINGS if name in settings},
        },
    )


def _identity(table: TableFacts) -> dict[str, object]:
    protocol = table.protocol
    return {
        "name": table.name,
        "table_id": table.table_id,
        "version": table.version,
        "protocol": [protocol.min_reader, protocol.min_writer],
        "reader_features": list(protocol.reader_features),
        "writer_features": list(protocol.writer_features),
        "schema": [[c.name, c.type, c.nullable] for c in table.columns],
        "partitioned_by": list(table.partition_columns),
        "scan": {name: value for name, value in table.properties if name in SCAN_PROPERTIES},
    }
