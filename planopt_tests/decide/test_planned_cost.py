"""The cost of a plan that did not run, on plans written by hand."""

from __future__ import annotations

import pytest

from planopt_assets.decide.planned_cost import density, planned_cpu_ns
from planopt_assets.model.plan import ROOT, Plan, PlanNode
from planopt_assets.model.scan import Funnel, ScanFacts, Size

pytestmark = pytest.mark.fast

MILLION = 1_000_000


def plan(*nodes: tuple[int, str]) -> Plan:
    """Parent and kind of each operator, in order; a kind `Scan t` reads table `t`."""
    made = [
        PlanNode(i, parent, "Scan parquet " if kind.startswith("Scan") else kind, f"Table: {kind[5:]}, Batched: true")
        for i, (parent, kind) in enumerate(nodes)
    ]
    return Plan("initial", tuple(made), "test")


def scan(table: str, rows: int | None, size: int, files: int) -> ScanFacts:
    funnel = Funnel(total=Size(files, size, rows), scanned=Size(files, size, rows))
    return ScanFacts(table, 1, 0, "", True, (), (), (), (), (), (), "", funnel)


BIG, SMALL = scan("big", MILLION, 50_000_000, 10), scan("small", 100, 5_000, 1)


def cost(found: Plan, *scans: ScanFacts) -> int:
    return planned_cpu_ns(found, scans, density(scans))


def test_the_worked_example() -> None:
    merge = plan(
        (ROOT, "SortMergeJoin"),
        *((0, "Sort"), (1, "Exchange"), (2, "Scan big"), (0, "Sort"), (4, "Exchange"), (5, "Scan small")),
    )
    small = 100 * (1_000 + 150 + 100) + 2_000_000
    assert cost(merge, BIG, SMALL) == 100_000_000 + MILLION * 1_250 + 20_000_000 + small


def test_a_join_without_a_condition_pays_for_every_pair() -> None:
    joined = plan((ROOT, "BroadcastHashJoin"), (0, "Scan big"), (0, "BroadcastExchange"), (2, "Scan small"))
    crossed = plan((ROOT, "BroadcastNestedLoopJoin"), (0, "Scan big"), (0, "BroadcastExchange"), (2, "Scan small"))
    assert cost(crossed, BIG, SMALL) - cost(joined, BIG, SMALL) == 100 * MILLION * 50


def test_rows_that_the_log_does_not_count_follow_the_bytes_of_another_scan_of_the_table() -> None:
    unknown = scan("big", None, 50_000_000, 10)
    found = plan((ROOT, "Scan big"))
    assert planned_cpu_ns(found, [unknown], density([BIG])) == cost(found, BIG)


def test_what_is_reused_is_paid_for_once() -> None:
    nodes = plan((ROOT, "Union"), (0, "Exchange"), (1, "Scan big"), (0, "ReusedExchange")).nodes
    reused = Plan("initial", (*nodes[:3], PlanNode(3, 0, "ReusedExchange", "", reuses=1)), "test")
    alone = plan((ROOT, "Exchange"), (0, "Scan big"))
    assert cost(reused, BIG) == cost(alone, BIG)
