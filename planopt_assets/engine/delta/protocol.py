"""Which tables this Delta can read. Checked from the table's protocol before planning, without a JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.errors import ProtocolUnsupported

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planopt_assets.model.table_facts import TableFacts

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
# Known to Delta, but such a table is read only through its catalog. planopt reads versions by path.
NOT_BY_PATH = frozenset({"catalogManaged"})


def protocol_gate(facts: TableFacts) -> None:
    """Refuse a table that cannot be read correctly. Writer features do not matter to a query."""
    if unknown := readable(facts):
        needed = ", ".join(f"`{feature}`" for feature in unknown)
        raise ProtocolUnsupported(
            f"it needs {needed} of its reader, which planopt with Delta {DELTA} does not have",
            where=f"table {facts.name}",
            fix="remove it from the table (`ALTER TABLE … DROP FEATURE`, with the software that wrote it), or use a "
            "planopt whose Delta has it",
        )


def readable(facts: TableFacts) -> tuple[str, ...]:
    """What prevents planopt from reading the table. Empty if it can."""
    protocol = facts.protocol
    return _unknown("reader", protocol.min_reader, READER_VERSION, protocol.reader_features, READER_FEATURES)


def writable(facts: TableFacts) -> tuple[str, ...]:
    """What prevents planopt from maintaining the table. Empty if it can."""
    protocol = facts.protocol
    return _unknown("writer", protocol.min_writer, WRITER_VERSION, protocol.writer_features, WRITER_FEATURES)


def _unknown(side: str, version: int, newest: int, features: Iterable[str], known: frozenset[str]) -> tuple[str, ...]:
    too_new = (f"{side} version {version}",) if version > newest else ()
    return (*too_new, *sorted(set(features) - (known - NOT_BY_PATH)))
