"""Which tables this Delta can read. Checked from the table's protocol before planning, without a JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.errors import ProtocolUnsupported

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planopt_assets.model.table_facts import Protocol, TableFacts

# The features of Delta 4.4.0. A Spark test compares them with the running Delta.
DELTA = "4.4.0"
READER_VERSION = 3
WRITER_VERSION = 7
READER_FEATURES = frozenset(
    {
        *("adaptiveMetadata-preview", "catalogManaged", "columnMapping", "deletionVectors"),
        *("geospatial", "geospatial-dev", "timestampNtz", "typeWidening", "typeWidening-preview"),
        *("v2Checkpoint", "vacuumProtocolCheck", "variantShredding", "variantShredding-preview"),
        *("variantType", "variantType-preview"),
    }
)
WRITER_FEATURES = READER_FEATURES | {
    *("allowColumnDefaults", "appendOnly", "changeDataFeed", "checkConstraints", "checkpointProtection"),
    *("clustering", "coordinatedCommits-preview", "domainMetadata", "generatedColumns"),
    *("icebergCompatV1", "icebergCompatV2", "icebergCompatV3", "identityColumns", "inCommitTimestamp"),
    *("invariants", "materializePartitionColumns", "rowTracking"),
}
REQUIRES = {
    "adaptiveMetadata-preview": {
        *("catalogManaged", "columnMapping", "deletionVectors", "domainMetadata", "rowTracking"),
    },
    "catalogManaged": {"inCommitTimestamp", "vacuumProtocolCheck"},
    "clustering": {"domainMetadata"},
    "coordinatedCommits-preview": {"inCommitTimestamp", "vacuumProtocolCheck"},
    "icebergCompatV1": {"columnMapping"},
    "icebergCompatV2": {"columnMapping"},
    "icebergCompatV3": {"columnMapping", "rowTracking"},
    "rowTracking": {"domainMetadata"},
    "variantShredding": {"variantType"},
}
"""Features that need others. Delta neither reads nor writes a table that has one of them without what it needs."""
# Known to Delta, but such a table is read only through its catalog. planopt reads versions by path.
NOT_BY_PATH = frozenset({"catalogManaged"})


def protocol_gate(facts: TableFacts) -> None:
    """Refuse a table that cannot be read correctly. Writer features do not matter to a query."""
    unknown, incomplete = _unknown_to_reader(facts.protocol), _incomplete(facts.protocol)
    if unknown or incomplete:
        needs = f"it needs {_named(unknown)} of its reader, which planopt with Delta {DELTA} does not have"
        lacks = f"it has {_named(incomplete)}, and Delta {DELTA} reads no such table"
        raise ProtocolUnsupported(
            needs if unknown else lacks,
            where=f"table {facts.name}",
            fix="remove it from the table (`ALTER TABLE … DROP FEATURE`, with the software that wrote it), or use a "
            "planopt whose Delta has it",
        )


def readable(facts: TableFacts) -> tuple[str, ...]:
    """What prevents planopt from reading the table. Empty if it can."""
    return (*_unknown_to_reader(facts.protocol), *_incomplete(facts.protocol))


def writable(facts: TableFacts) -> tuple[str, ...]:
    """What prevents planopt from maintaining the table. Empty if it can. Who writes a table reads it too."""
    protocol = facts.protocol
    unknown = _unknown("writer", protocol.min_writer, WRITER_VERSION, protocol.writer_features, WRITER_FEATURES)
    return tuple(dict.fromkeys((*readable(facts), *unknown)))


def _unknown_to_reader(protocol: Protocol) -> tuple[str, ...]:
    return _unknown("reader", protocol.min_reader, READER_VERSION, protocol.reader_features, READER_FEATURES)


def _unknown(side: str, version: int, newest: int, features: Iterable[str], known: frozenset[str]) -> tuple[str, ...]:
    too_new = (f"{side} version {version}",) if version > newest else ()
    return (*too_new, *sorted(set(features) - (known - NOT_BY_PATH)))


def _incomplete(protocol: Protocol) -> tuple[str, ...]:
    present = {*protocol.reader_features, *protocol.writer_features}
    missing = {name: sorted(REQUIRES[name] - present) for name in sorted(present & REQUIRES.keys())}
    return tuple(f"{name} without {', '.join(lacks)}" for name, lacks in missing.items() if lacks)


def _named(features: Iterable[str]) -> str:
    return ", ".join(f"`{feature}`" for feature in features)
