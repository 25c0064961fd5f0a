"""The protocol gate: what a reader must know decides, what only a writer must know is said."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from planopt_assets.engine.delta.protocol import DELTA, protocol_gate, readable, writable
from planopt_assets.errors import ProtocolUnsupported
from planopt_assets.model.table_facts import Column, Protocol, TableFacts

pytestmark = pytest.mark.fast


def table(protocol: Protocol) -> TableFacts:
    return TableFacts("orders", "/o", "x", 0, protocol, (Column("id", "long"),))


def test_the_features_listed_are_those_of_the_delta_installed() -> None:
    assert version("delta-spark") == DELTA


@pytest.mark.parametrize(
    "protocol",
    [
        *(Protocol.of(1, 2), Protocol.of(2, 6)),
        Protocol.of(3, 7, ["deletionVectors", "v2Checkpoint"], ["deletionVectors", "v2Checkpoint", "appendOnly"]),
        Protocol.of(1, 7, [], ["rowTracking", "domainMetadata"]),
    ],
)
def test_a_protocol_this_delta_knows_passes(protocol: Protocol) -> None:
    protocol_gate(table(protocol))
    assert (readable(table(protocol)), writable(table(protocol))) == ((), ())


def test_a_reader_feature_nobody_knows_is_refused_by_name() -> None:
    facts = table(Protocol.of(3, 7, ["timeMachine", "deletionVectors", "aether"], ["timeMachine", "aether"]))
    with pytest.raises(ProtocolUnsupported) as error:
        protocol_gate(facts)
    assert str(error.value) == (
        "PLN-212 table orders: it needs `aether`, `timeMachine` of its reader, which planopt with Delta 4.4.0 does not "
        "have. Fix: remove it from the table (`ALTER TABLE … DROP FEATURE`, with the software that wrote it), or use a "
        "planopt whose Delta has it"
    )
    assert readable(facts) == ("aether", "timeMachine")


def test_a_feature_that_only_writers_know_here_is_none_of_a_reader() -> None:
    with pytest.raises(ProtocolUnsupported):  # Delta says so too: a writer feature among the reader features
        protocol_gate(table(Protocol.of(3, 7, ["rowTracking"], ["rowTracking"])))


def test_a_feature_without_one_that_it_requires_is_refused_for_readers_and_writers() -> None:
    facts = table(Protocol.of(1, 7, [], ["icebergCompatV3", "rowTracking", "domainMetadata"]))
    with pytest.raises(ProtocolUnsupported, match="it has `icebergCompatV3 without columnMapping`, and Delta"):
        protocol_gate(facts)
    assert writable(facts) == readable(facts) == ("icebergCompatV3 without columnMapping",)


def test_who_cannot_read_a_table_never_writes_to_it() -> None:
    assert writable(table(Protocol.of(4, 7))) == ("reader version 4",)


def test_a_table_that_only_its_catalog_may_open_is_refused() -> None:
    with pytest.raises(ProtocolUnsupported, match="`catalogManaged`"):
        protocol_gate(table(Protocol.of(3, 7, ["catalogManaged"], ["catalogManaged"])))


def test_a_version_beyond_what_delta_reads_is_refused() -> None:
    with pytest.raises(ProtocolUnsupported, match="`reader version 4`"):
        protocol_gate(table(Protocol.of(4, 7)))
    protocol_gate(table(Protocol.of(3, 7)))


def test_what_only_writers_must_know_refuses_no_query() -> None:
    facts = table(Protocol.of(3, 8, [], ["timeMachine", "appendOnly"]))
    protocol_gate(facts)
    assert writable(facts) == ("writer version 8", "timeMachine")
