"""What rules look at: shuffles that may be resized, and scans."""

from __future__ import annotations

import pytest

from planopt_assets.model.signals import Exchange, Scan
from planopt_assets.observe.signals import FILE_BYTES, FILES, SHUFFLE_BYTES, resizable_exchanges, scans
from planopt_tests.observe.captured import Info, captured, node, plan_of

pytestmark = pytest.mark.fast


def accumulators(info: Info, name: str) -> list[int]:
    """Accumulators of one metric, in plan order."""
    own = [m["accumulatorId"] for m in info["metrics"] if m["name"] == name]
    return own + [i for child in info["children"] for i in accumulators(child, name)]


def scan_of(table: str, files: int) -> Info:
    text = f"FileScan parquet [] Batched: true, Location: TahoeLogFileIndex(1 paths)[file:/data/{table}]"
    return node("Scan parquet ", text, metrics=((FILES, files), (FILE_BYTES, 1000 + files)))


def exchange_of(partitioning: str, purpose: str) -> Info:
    return node("Exchange", f"Exchange {partitioning}, {purpose}, [plan_id=7]", metrics=((SHUFFLE_BYTES, 1),))


def test_the_shuffles_of_an_executed_plan_have_their_partitions_and_bytes() -> None:
    final = captured("final")
    values = dict(zip(accumulators(final, SHUFFLE_BYTES), (100, 2_000, 30_000), strict=True))
    assert resizable_exchanges(plan_of(final, "final", values)) == (
        Exchange(node=2, partitions=200, bytes_written=100),
        Exchange(node=7, partitions=200, bytes_written=2_000),
        Exchange(node=10, partitions=200, bytes_written=30_000),
    )


def test_a_broadcast_is_no_shuffle_to_resize() -> None:
    plan = plan_of(captured("final"))
    assert len([n for n in plan.nodes if n.kind == "BroadcastExchange"]) == 3
    assert {plan.nodes[x.node].kind for x in resizable_exchanges(plan)} == {"Exchange"}


def test_a_shuffle_the_author_asked_for_is_not_resized() -> None:
    assert resizable_exchanges(plan_of(exchange_of("RoundRobinPartitioning(8)", "REPARTITION_BY_NUM"))) == ()


def test_a_shuffle_into_one_partition_is_not_resized() -> None:
    assert resizable_exchanges(plan_of(exchange_of("SinglePartition", "ENSURE_REQUIREMENTS"))) == ()


def test_a_shuffle_that_wrote_nothing_wrote_zero_bytes() -> None:
    (exchange,) = resizable_exchanges(plan_of(exchange_of("hashpartitioning(a#1, 8)", "ENSURE_REQUIREMENTS")))
    assert exchange == Exchange(node=0, partitions=8, bytes_written=0)


def test_the_scans_of_an_executed_plan_have_files_bytes_and_tasks() -> None:
    final = captured("final")
    values = dict(zip(accumulators(final, FILES), (120, 60, 20, 1), strict=True))
    values |= dict(zip(accumulators(final, FILE_BYTES), (12_000, 6_000, 2_000, 100), strict=True))
    splits = {"lineitem": [65], "orders": [33], "customer": [11], "nation": [1]}
    found = scans(plan_of(final, "final", values), splits)
    assert [(s.table, s.files, s.bytes, s.splits) for s in found] == [
        ("lineitem", 120, 12_000, 65),
        ("orders", 60, 6_000, 33),
        ("customer", 20, 2_000, 11),
        ("nation", 1, 100, 1),
    ]


def test_a_table_scanned_twice_gets_its_tasks_in_plan_order() -> None:
    plan = plan_of(node("Union", "", scan_of("orders", 1), scan_of("nation", 2), scan_of("orders", 3)))
    found = scans(plan, {"orders": [10, 30], "nation": [20]})
    assert [(s.table, s.splits) for s in found] == [("orders", 10), ("nation", 20), ("orders", 30)]


def test_reading_the_tasks_leaves_the_given_splits_as_they_were() -> None:
    splits = {"orders": [10]}
    scans(plan_of(scan_of("orders", 1)), splits)
    assert splits == {"orders": [10]}


def test_a_scan_of_which_nothing_is_known_counts_zero() -> None:
    assert scans(plan_of(scan_of("orders", 1)), {}) == (Scan(node=0, table="orders", files=0, bytes=0, splits=0),)
