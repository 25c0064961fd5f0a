"""Estimates against what happened: what is compared with what, and when it mattered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planopt_assets.model.plan import Estimate, Misjudged, Plan, PlanNode
from planopt_assets.model.scan import Funnel, ScanFacts, Size
from planopt_assets.observe.plans.estimates import (
    actual_bytes,
    misjudged,
    misled_joins,
    operator_ms,
    with_first_estimates,
    with_log_rows,
    with_text_estimate,
)
from planopt_assets.observe.plans.metrics import actual_rows
from planopt_tests.rows import scan_facts

pytestmark = pytest.mark.fast

ROWS, WRITTEN, SIZE = "number of output rows", "shuffle records written", "data size"


def node(kind: str, index: int = 0, parent: int = -1, detail: str = "", **others: Any) -> PlanNode:
    metrics = tuple(others.pop("metrics", {}).items())
    return PlanNode(index, parent, kind, detail, metrics, **others)


# What happened


def test_rows_of_an_exchange_are_those_it_wrote() -> None:
    assert actual_rows(node("Exchange", metrics={ROWS: 7, WRITTEN: 9})) == 9
    assert actual_rows(node("Exchange", metrics={ROWS: 7})) is None


def test_rows_of_any_other_operator_are_its_output() -> None:
    assert actual_rows(node("Filter", metrics={ROWS: 7, WRITTEN: 9})) == 7
    assert actual_rows(node("Project")) is None


def test_bytes_are_what_an_exchange_weighed() -> None:
    assert actual_bytes(node("Exchange", metrics={SIZE: 100, WRITTEN: 9}, row_bytes=4)) == 100
    assert actual_bytes(node("Exchange", metrics={SIZE: 0, WRITTEN: 9}, row_bytes=4)) == 0


def test_bytes_of_any_other_operator_are_rows_in_the_planners_own_width() -> None:
    assert actual_bytes(node("Filter", metrics={ROWS: 10}, row_bytes=4)) == 10 * (4 + 8)
    assert actual_bytes(node("Filter", metrics={ROWS: 10})) is None
    assert actual_bytes(node("Filter", row_bytes=4)) is None


@pytest.mark.parametrize(
    ("metrics", "ms"),
    [
        ({}, None),
        ({ROWS: 5}, None),
        ({"sort time": 3, ROWS: 5}, 3),
        ({"sort time total": 3, "duration": 4}, 7),
        ({"shuffle write time": 2_500_000, "fetch wait time": 1}, 3),  # the one is in nanoseconds
        ({"scan time": 0}, 0),
        ({"my sort time": 3}, None),
        ({"scan time": 1, "time to build": 10, "time to collect": 100, "time in aggregation build": 1000}, 1111),
    ],
)
def test_time_of_an_operator(metrics: dict[str, int], ms: int | None) -> None:
    assert operator_ms(node("Sort", metrics=metrics)) == ms


# How far off


@pytest.mark.parametrize(
    ("estimated", "actual", "factor"), [(999, 9, 100.0), (9, 999, 100.0), (5, 5, 1.0), (0, 0, 1.0), (0, 9, 10.0)]
)
def test_the_factor_is_the_same_for_too_high_and_too_low(estimated: int, actual: int, factor: float) -> None:
    found = misjudged(node("Filter", 3, metrics={ROWS: actual}, estimate=Estimate(rows=estimated)))
    assert found == Misjudged(3, "Filter", factor, "rows", estimated, actual)


@given(st.integers(0, 2**63), st.integers(0, 2**63))
def test_the_factor_is_never_below_one_and_looks_both_ways_alike(one: int, other: int) -> None:
    def factor(estimated: int, actual: int) -> float:
        found = misjudged(node("Filter", metrics={ROWS: actual}, estimate=Estimate(rows=estimated)))
        assert found is not None
        return found.factor

    assert factor(one, other) == factor(other, one) >= 1.0


def test_bytes_are_compared_where_the_planner_has_no_rows() -> None:
    found = misjudged(node("Filter", metrics={ROWS: 10}, row_bytes=4, estimate=Estimate(bytes=1209)))
    assert found == Misjudged(0, "Filter", 10.0, "bytes", 1209, 120)


def test_rows_are_compared_first() -> None:
    found = misjudged(node("Filter", metrics={ROWS: 10}, row_bytes=4, estimate=Estimate(rows=10, bytes=1209)))
    assert found is not None
    assert (found.by, found.factor) == ("rows", 1.0)


@pytest.mark.parametrize(
    "told",
    [
        node("Filter", metrics={ROWS: 10}),
        node("Filter", estimate=Estimate(rows=10, bytes=10)),
        node("Filter", metrics={ROWS: 10}, estimate=Estimate(bytes=10)),  # no width to weigh rows with
    ],
    ids=["no estimate", "did not run", "no width"],
)
def test_nothing_is_said_where_nothing_can_be_compared(told: PlanNode) -> None:
    assert misjudged(told) is None


# Rows from Delta's log


def scan(table: str, rows: int | None) -> ScanFacts:
    return scan_facts(table, funnel=Funnel(scanned=Size(files=1, bytes=50, rows=rows)))


SCANS = Plan(
    "final",
    (
        node("SortMergeJoin", 0),
        node("Scan parquet", 1, 0, "Scan parquet Table: orders", estimate=Estimate(bytes=90, source="plan")),
        node("Scan parquet", 2, 0, "Scan parquet Table: nation", estimate=Estimate(rows=3, bytes=9, source="plan")),
        node("Scan parquet", 3, 0, "Scan parquet Table: orders"),
        node("Scan parquet", 4, 0, "Scan parquet Table: other"),
    ),
    "x",
)


def test_scans_get_the_rows_of_the_log_in_the_order_of_the_plan() -> None:
    found = with_log_rows(SCANS, [scan("orders", 11), scan("nation", 22), scan("orders", 33)])
    assert [n.estimate for n in found.nodes] == [
        Estimate(),
        Estimate(11, 50, "delta_log"),
        Estimate(3, 9, "plan"),  # the planner's own estimate is not overwritten
        Estimate(33, 50, "delta_log"),
        Estimate(),
    ]
    assert replace(found, nodes=tuple(replace(n, estimate=Estimate()) for n in found.nodes)) == replace(
        SCANS, nodes=tuple(replace(n, estimate=Estimate()) for n in SCANS.nodes)
    )


def test_a_plan_without_facts_stays_as_it_is() -> None:
    assert with_log_rows(SCANS, []) == SCANS
    assert with_log_rows(SCANS, [scan("orders", None), scan("orders", None)]) == SCANS


# What was reckoned before anything ran

RECKONED = Estimate(bytes=900, source="plan")
CORRECTED = Estimate(rows=3, bytes=90, source="plan", at_runtime=True)


def one(detail: str, estimate: Estimate, kind: str = "Filter") -> Plan:
    return Plan("final", (node(kind, detail=detail, estimate=estimate, metrics={ROWS: 3}),), "x")


def test_an_estimate_that_the_run_corrected_is_the_first_one_again() -> None:
    assert with_first_estimates(one("a", CORRECTED), one("a", RECKONED)) == one("a", RECKONED)


@pytest.mark.parametrize(
    ("final", "initial"),
    [
        (one("a", RECKONED), one("a", Estimate(bytes=1, source="plan"))),
        (one("a", CORRECTED), one("b", RECKONED)),
        (one("a", CORRECTED), one("a", RECKONED, kind="Sort")),
        (one("a", CORRECTED), one("a", Estimate())),
    ],
    ids=["not corrected", "another operator", "another kind", "never reckoned"],
)
def test_any_other_estimate_stays(final: Plan, initial: Plan) -> None:
    assert with_first_estimates(final, initial) == final


COST = "Aggregate [n#1], Statistics(sizeInBytes=2.0 KiB)"


def test_the_text_gives_the_root_an_estimate_where_no_operator_has_one() -> None:
    bare = Plan("final", (node("Sort"), node("Filter", 1, 0)), "x")
    found = with_text_estimate(bare, COST)
    assert [n.estimate for n in found.nodes] == [Estimate(bytes=2048, source="explain"), Estimate()]
    assert with_text_estimate(bare, None) == bare


def test_the_text_is_not_needed_where_an_operator_has_an_estimate() -> None:
    plan = Plan("final", (node("Sort"), node("Filter", 1, 0, estimate=RECKONED)), "x")
    assert with_text_estimate(plan, COST) == plan
    assert with_text_estimate(Plan("final", (), "x"), COST) == Plan("final", (), "x")


# Joins that were planned on a wrong estimate

THRESHOLD = 1_000


def joined(
    estimated: int, rows: int, *, exchange: str = "Exchange", above: tuple[str, ...] = (), below: tuple[str, ...] = ()
) -> tuple[Plan, Plan]:
    """One join input of this size, before and after: 12 bytes a row at the exchange and below it."""
    kinds = ["SortMergeJoin", *above, exchange, *below, "Filter"]
    metrics = {WRITTEN if exchange == "Exchange" else ROWS: rows}
    final = [node(kind, i, i - 1, kind, row_bytes=4) for i, kind in enumerate(kinds)]
    at = kinds.index(exchange)
    final[at] = replace(final[at], metrics=tuple(metrics.items()))
    initial = [replace(n, metrics=()) for n in final]
    initial[-1] = replace(initial[-1], estimate=Estimate(bytes=estimated, source="plan"))
    final[-1] = replace(final[-1], estimate=Estimate(bytes=rows * 12, source="plan", at_runtime=True))
    return Plan("initial", tuple(initial), "x"), Plan("final", tuple(final), "x")


def found_in(plans: tuple[Plan, Plan], threshold: int = THRESHOLD) -> list[tuple[int, int]]:
    return [(m.estimated, m.actual) for m in misled_joins(*plans, threshold)]


@pytest.mark.parametrize("exchange", ["Exchange", "BroadcastExchange"])
def test_an_input_reckoned_too_large_to_broadcast_is_found(exchange: str) -> None:
    assert found_in(joined(120_000, 10, exchange=exchange)) == [(120_000, 120)]


@pytest.mark.parametrize("exchange", ["Exchange", "BroadcastExchange"])
def test_an_input_reckoned_small_that_is_not_is_found(exchange: str) -> None:
    assert found_in(joined(120, 10_000, exchange=exchange)) == [(120, 120_000)]


def test_it_says_which_operator_was_misjudged_and_by_how_much() -> None:
    assert misled_joins(*joined(12_119, 10), THRESHOLD) == (Misjudged(2, "Filter", 12_120 / 121, "bytes", 12_119, 120),)


@pytest.mark.parametrize(
    ("estimated", "rows"),
    [(120, 10), (120_000, 10_000), (900, 10), (120_000_000, 10_000), (2_400, 100), (THRESHOLD, 1)],
)
def test_an_error_on_one_side_of_the_threshold_cost_nothing(estimated: int, rows: int) -> None:
    assert found_in(joined(estimated, rows)) == []


def test_without_a_threshold_nothing_is_broadcast_and_nothing_misled() -> None:
    assert found_in(joined(120_000, 10), threshold=-1) == []
    assert found_in(joined(120_000, 0), threshold=0) == []


@pytest.mark.parametrize("between", [("Sort",), ("AQEShuffleRead", "Sort"), ("Project",)])
def test_sorts_and_shuffle_reads_between_are_looked_through(between: tuple[str, ...]) -> None:
    assert found_in(joined(120_000, 10, above=between)) == [(120_000, 120)]


def test_projections_below_are_looked_through() -> None:
    assert found_in(joined(120_000, 10, below=("Project", "Project"))) == [(120_000, 120)]


def narrowed(*below: str) -> tuple[Plan, Plan]:
    """The operator under the exchange was reckoned at 3,000 bytes, of rows three times as wide as the join gets."""
    initial, final = joined(3_000, 50)
    plans = []
    for plan in (initial, final):
        *above, last = plan.nodes
        scans = [node(kind, last.index + 1 + i, last.index + i, kind) for i, kind in enumerate(below)]
        plans.append(replace(plan, nodes=(*above, replace(last, row_bytes=28), *scans)))
    return plans[0], plans[1]


def test_an_estimate_for_wider_rows_is_brought_to_the_width_of_the_join() -> None:
    assert found_in(narrowed("HashAggregate", "Scan parquet"), threshold=900) == [(1_000, 600)]


@pytest.mark.parametrize("between", [(), ("ColumnarToRow",)])
def test_a_filter_over_a_scan_is_reckoned_with_its_projection_and_brought_to_no_other_width(
    between: tuple[str, ...],
) -> None:
    assert found_in(narrowed(*between, "Scan parquet"), threshold=900) == [(3_000, 600)]


def test_an_exchange_that_feeds_no_join_is_of_no_interest() -> None:
    initial, final = joined(120_000, 10, above=("HashAggregate",))
    assert misled_joins(initial, final, THRESHOLD) == ()


def test_an_input_without_an_estimate_or_without_rows_is_of_no_interest() -> None:
    initial, final = joined(120_000, 10)
    blank = tuple(replace(n, estimate=Estimate()) for n in initial.nodes)
    unrun = tuple(replace(n, metrics=()) for n in final.nodes)
    assert misled_joins(replace(initial, nodes=blank), final, THRESHOLD) == ()
    assert misled_joins(initial, replace(final, nodes=unrun), THRESHOLD) == ()


def test_the_worst_comes_first() -> None:
    def both(first: Plan, second: Plan) -> Plan:
        moved = [
            replace(n, index=n.index + 2, parent=n.parent + 2 if n.index > 1 else 0, detail="second")
            for n in second.nodes[1:]
        ]
        return replace(first, nodes=(*first.nodes, *moved))

    little, much = joined(2_400, 10), joined(240_000, 10)
    assert found_in((both(little[0], much[0]), both(little[1], much[1]))) == [(240_000, 120), (2_400, 120)]
