"""The diff of two plans reads like a patch: `-` as it is, `+` under the policy. Goldens in `golden_diffs/`."""

from __future__ import annotations

from pathlib import Path

import pytest

from planopt_assets.model.plan import Plan, PlanNode
from planopt_assets.observe.plans.diff import plan_diff, pushed_diff
from planopt_tests.observe.captured import Info, captured, node, plan_of, replaced

pytestmark = pytest.mark.fast

GOLDEN = Path(__file__).parent / "golden_diffs"
SPLITS = {"lineitem": [65], "orders": [33], "customer": [11], "nation": [1]}
BEFORE = plan_of(captured("initial"))
NO_PLAN = Plan("initial", (), "none")


def sort_merge() -> Info:
    """The innermost join as a sort-merge join: two shuffles and two sorts take the place of the broadcast."""
    shuffled = "Exchange hashpartitioning(o_orderkey#117L, 200), ENSURE_REQUIREMENTS, [plan_id=1]"

    def change(info: Info) -> Info:
        if info["nodeName"] == "BroadcastHashJoin" and "l_orderkey" in info["simpleString"]:
            left, broadcast = info["children"]
            sides = [node("Sort", "Sort", node("Exchange", shuffled, s)) for s in (left, broadcast["children"][0])]
            return node("SortMergeJoin", "SortMergeJoin [l_orderkey#75L], [o_orderkey#117L], Inner", *sides)
        return {**info, "children": [change(child) for child in info["children"]]}

    return change(captured("initial"))


CASES = {
    "fewer_shuffle_partitions": (replaced(captured("initial"), ", 200)", ", 2)", times=3), SPLITS),
    "fewer_scan_tasks": (captured("initial"), {**SPLITS, "lineitem": [3], "orders": [2]}),
    "fewer_of_both": (replaced(captured("initial"), ", 200)", ", 2)", times=3), {**SPLITS, "lineitem": [3]}),
    "sort_merge_join": (sort_merge(), SPLITS),
    "other_build_side": (replaced(captured("initial"), "BuildRight", "BuildLeft"), SPLITS),
}


@pytest.mark.parametrize("name", CASES)
def test_a_changed_plan_reads_like_this(name: str) -> None:
    after, splits = CASES[name]
    diff = plan_diff(BEFORE, plan_of(after), SPLITS, splits)
    assert f"{diff}\n" == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


def test_an_unchanged_plan_has_no_diff() -> None:
    assert plan_diff(BEFORE, plan_of(captured("initial")), SPLITS, dict(SPLITS)) == ""


def test_another_literal_is_no_change_of_the_plan() -> None:
    after = plan_of(replaced(captured("initial"), "(1 - l_discount", "(2 - l_discount"))
    assert after != BEFORE
    assert plan_diff(BEFORE, after, SPLITS, SPLITS) == ""


def test_a_table_scanned_twice_is_listed_twice() -> None:
    assert plan_diff(NO_PLAN, NO_PLAN, {"t": [8, 8]}, {"t": [8, 3]}) == "-scan of t in 8 tasks\n+scan of t in 3 tasks"


def test_the_order_in_which_tables_are_listed_is_no_change() -> None:
    assert plan_diff(NO_PLAN, NO_PLAN, {"a": [1], "b": [2]}, {"b": [2], "a": [1]}) == ""


def test_the_diff_the_other_way_round_swaps_the_signs() -> None:
    after = plan_of(replaced(captured("initial"), "BuildRight", "BuildLeft"))
    forth, back = plan_diff(BEFORE, after, {}, {}), plan_diff(after, BEFORE, {}, {})
    signs = str.maketrans("+-", "-+")
    assert sorted(line.translate(signs) for line in forth.splitlines()) == sorted(back.splitlines())
    assert forth


def scan(pushed: str) -> Plan:
    detail = f"Scan parquet Batched: true, Table: sales, PushedFilters: {pushed}, ReadSchema: struct<day:bigint>"
    return Plan("initial", (PlanNode(0, -1, "Scan parquet", detail),), "x")


def test_what_a_reader_is_handed_is_a_change_that_no_operator_shows() -> None:
    before, after = scan("[]"), scan("[Or(EqualTo(day,5),EqualTo(day,7)), In(day, [1,2])]")
    assert plan_diff(before, after, {}, {}) == ""
    assert pushed_diff(before, after).splitlines() == [
        "-scan of sales is handed []",
        "+scan of sales is handed [Or(EqualTo(day,5),EqualTo(day,7)), In(day, [1,2])]",
    ]
    assert pushed_diff(after, after) == ""
