"""Two hashes: `plan_fingerprint` for the very same plan, `topology_hash` for the same shape of plan."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.model.plan import PlanNode
from planopt_assets.observe.plans.fingerprint import (
    partition_count,
    plan_fingerprint,
    scanned_table,
    shape,
    topology_hash,
)
from planopt_assets.observe.plans.normalise import normalise
from planopt_tests.observe.captured import FIXTURES, Info, captured, everywhere, node, plan_of, replaced, rewritten

pytestmark = pytest.mark.fast

PHASES = ("initial", "final")


def hashes(info: Info) -> tuple[str, str]:
    plan = plan_of(info)
    return plan_fingerprint(plan), topology_hash(plan)


# What changes neither


@pytest.mark.parametrize("phase", PHASES)
@settings(deadline=None, max_examples=25)
@given(renumbering=st.randoms(use_true_random=False))
def test_renumbering_expression_ids_changes_neither_hash(phase: str, renumbering) -> None:
    old = sorted(set(re.findall(r"#(\d+)", (FIXTURES / f"{phase}.json").read_text())))
    new = dict(zip(old, renumbering.sample(range(10_000), len(old)), strict=True))
    renumbered = rewritten(captured(phase), lambda text: re.sub(r"#(\d+)", lambda m: f"#{new[m[1]]}", text))
    assert hashes(renumbered) == hashes(captured(phase))


@pytest.mark.parametrize("phase", PHASES)
@settings(deadline=None, max_examples=25)
@given(offset=st.integers(1, 10**6))
def test_renumbering_plan_ids_changes_neither_hash(phase: str, offset: int) -> None:
    moved = rewritten(
        captured(phase), lambda text: re.sub(r"plan_id=(\d+)", lambda m: f"plan_id={int(m[1]) + offset}", text)
    )
    assert hashes(moved) == hashes(captured(phase))


def test_the_place_of_a_table_changes_neither_hash() -> None:
    moved = rewritten(captured("final"), lambda text: text.replace("file:/data/", "file:/clones/2026/"))
    names = {f"/clones/2026/{name}": name for name in ("lineitem", "orders", "customer", "nation")}
    plan = normalise(moved, phase="final", tables=names)
    assert (plan_fingerprint(plan), topology_hash(plan)) == hashes(captured("final"))


def test_the_version_of_a_table_changes_neither_hash() -> None:
    # Delta shows a snapshot only through the kind of its file index: the newest, a pinned one, a prepared scan.
    pinned = rewritten(captured("final"), lambda text: text.replace("TahoeLogFileIndex", "PreparedDeltaFileIndex"))
    assert pinned != captured("final")
    assert hashes(pinned) == hashes(captured("final"))


def test_the_seed_of_rand_changes_neither_hash() -> None:
    first, second = (
        node("Project", f"Project [rand({seed}) AS r#1]") for seed in (-5120938012512093801, 7712093801771209380)
    )
    assert hashes(first) == hashes(second)


def test_the_id_of_a_subquery_changes_neither_hash() -> None:
    # The first happens to be the id of a column as well.
    first, second = (node("Filter", f"Filter (a#7 > Subquery scalar-subquery#30, [id=#{n}])") for n in (7, 71))
    assert hashes(first) == hashes(second)


def test_shells_change_neither_hash() -> None:
    wrapped = everywhere(lambda n: node("WholeStageCodegen (9)", "", node("InputAdapter", "", n)), captured("final"))
    assert hashes(wrapped) == hashes(captured("final"))


def test_metrics_change_neither_hash() -> None:
    plan = plan_of(captured("final"), metric_values=dict.fromkeys(range(4000), 7))
    assert any(n.metrics for n in plan.nodes)
    assert (plan_fingerprint(plan), topology_hash(plan)) == hashes(captured("final"))


# What changes the fingerprint alone


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(1 - l_discount", "(2 - l_discount"),
        ("date_trunc(MONTH", "date_trunc(YEAR"),
        ("month#320 ASC NULLS FIRST", "month#320 DESC NULLS LAST"),
        ("PushedFilters: []", "PushedFilters: [IsNotNull(l_orderkey)]"),
    ],
)
def test_a_literal_or_an_expression_changes_the_fingerprint_and_not_the_topology(old: str, new: str) -> None:
    (fingerprint, topology), (then, same) = hashes(captured("initial")), hashes(replaced(captured("initial"), old, new))
    assert then != fingerprint
    assert same == topology


# What changes both


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("month#320, 200)", "month#320, 8)", id="partition count"),
        pytest.param("BuildRight", "BuildLeft", id="build side"),
        pytest.param("Inner", "LeftOuter", id="join type"),
        pytest.param("BroadcastHashJoin", "SortMergeJoin", id="join operator"),
        pytest.param("HashAggregate", "SortAggregate", id="aggregate operator"),
        pytest.param("hashpartitioning", "rangepartitioning", id="kind of partitioning"),
        pytest.param("BroadcastExchange", "Exchange", id="kind of exchange"),
        pytest.param("Batched: true", "Batched: false", id="vectorised scan"),
        pytest.param("file:/data/orders", "file:/data/customer", id="table"),
    ],
)
def test_a_choice_of_the_planner_changes_both_hashes(old: str, new: str) -> None:
    (fingerprint, topology), (then, other) = (
        hashes(captured("initial")),
        hashes(replaced(captured("initial"), old, new)),
    )
    assert then != fingerprint
    assert other != topology


def test_one_more_operator_changes_both_hashes() -> None:
    one, more = hashes(captured("initial")), hashes(node("Coalesce", "Coalesce 1", captured("initial")))
    assert one[0] != more[0]
    assert one[1] != more[1]


def test_the_two_sides_of_a_join_are_not_the_same() -> None:
    def swapped(n: Info) -> Info:
        return {**n, "children": n["children"][::-1]}

    one, other = hashes(captured("initial")), hashes(everywhere(swapped, captured("initial")))
    assert one[0] != other[0]
    assert one[1] != other[1]


def test_the_same_operators_under_another_parent_are_another_plan() -> None:
    left = node("Union", "", node("Union", "", node("Sort")), node("Project"))
    right = node("Union", "", node("Union", "", node("Sort"), node("Project")))
    assert [n.kind for n in plan_of(left).nodes] == [n.kind for n in plan_of(right).nodes]
    assert hashes(left)[0] != hashes(right)[0]
    assert hashes(left)[1] != hashes(right)[1]


# What stores hold


def test_fingerprints_that_stores_already_hold_stay_or_the_extractor_gets_a_new_version() -> None:
    lines = []
    for phase in PHASES:
        plan = plan_of(captured(phase))
        lines.append(f"{plan.extractor} {phase} {plan_fingerprint(plan)} {topology_hash(plan)}")
    assert lines == (FIXTURES / "fingerprints.txt").read_text().splitlines()


# The parts


@pytest.mark.parametrize(
    ("detail", "count"),
    [
        ("Exchange hashpartitioning(k#0, 200), ENSURE_REQUIREMENTS", 200),
        ("Exchange rangepartitioning(k#0 ASC NULLS FIRST, 200), ENSURE_REQUIREMENTS", 200),
        ("Exchange RoundRobinPartitioning(8), REPARTITION_BY_NUM", 8),
        ("Exchange SinglePartition, ENSURE_REQUIREMENTS", None),
    ],
)
def test_the_partition_count_of_a_shuffle_is_read_where_the_plan_names_it(detail: str, count: int | None) -> None:
    assert partition_count(PlanNode(0, -1, "Exchange", detail)) == count


def test_only_a_shuffle_has_a_partition_count() -> None:
    assert partition_count(PlanNode(0, -1, "Project", "Project [concat(a#0, 200)")) is None


def test_only_a_scan_has_a_table() -> None:
    detail = "FileScan parquet [a#0] Batched: true, Table: orders, PushedFilters: []"
    assert scanned_table(PlanNode(0, -1, "Scan parquet", detail)) == "orders"
    assert scanned_table(PlanNode(0, -1, "Project", detail)) is None


@pytest.mark.parametrize(
    ("kind", "detail", "expected"),
    [
        ("BroadcastHashJoin", "[a#0], [b#1], LeftSemi, BuildLeft, false", ["BroadcastHashJoin", "LeftSemi", "Left"]),
        ("SortMergeJoin", "[a#0], [b#1], FullOuter", ["SortMergeJoin", "FullOuter"]),
        ("BroadcastNestedLoopJoin", "BuildRight, Cross", ["BroadcastNestedLoopJoin", "Cross", "Right"]),
        ("Scan parquet", "Batched: false, Table: orders,", ["Scan parquet", "orders", "row-wise"]),
        ("Filter", "Filter (side#0 = Inner)", ["Filter"]),
    ],
)
def test_the_shape_of_an_operator_is_what_the_planner_chose(kind: str, detail: str, expected: list[str]) -> None:
    assert shape(PlanNode(0, -1, kind, detail)) == expected
