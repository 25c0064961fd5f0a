"""Two readings agree only if they say the same of every operator: one altered thing is found and named."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.model.plan import Plan, PlanNode
from planopt_assets.observe.plans.agreement import disagreements, essence
from planopt_tests.observe.captured import everywhere, node, plan_of, replaced
from planopt_tests.observe.recorded import CASES, from_text, from_tree, text_of, tree_of

pytestmark = pytest.mark.fast


def found(name: str, old: str, new: str, phase: str = "initial") -> str:
    """What is reported when the tree of a recorded plan has `new` in place of one `old`, and the text is as it was."""
    altered = from_tree(replaced(tree_of(name, phase), old, new), phase)
    return "\n".join(disagreements(altered, from_text(text_of(name, phase), phase)))


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("broadcast_inner_left", "BuildLeft", "BuildRight", "build side is BuildRight and BuildLeft"),
        ("shuffled_hash_left", "BuildLeft", "BuildRight", "build side is BuildRight and BuildLeft"),
        ("nested_loop", "LeftOuter", "Inner", "join type is Inner and LeftOuter"),
        ("sort_merge_full", "FullOuter", "LeftOuter", "join type is LeftOuter and FullOuter"),
        ("broadcast_condition", " AND (note#", " OR (note#", "says is"),
        ("cartesian", " > shop#", " < shop#", "says is"),
        ("aggregate", "hashpartitioning", "rangepartitioning", "partitioning is rangepartitioning"),
        ("aggregate", ", 3), ENSURE", ", 9), ENSURE", "partitions is 9 and 3"),
        ("aggregate", "ENSURE_REQUIREMENTS", "REPARTITION_BY_NUM", "says is"),
        ("aggregate", "merge_sum", "merge_max", "says is"),
        ("aggregate", "HashAggregate", "SortAggregate", "SortAggregate and HashAggregate"),
        ("aggregate", " AND (id#", " OR (id#", "condition is"),
        ("aggregate", "GreaterThanOrEqual(id,5), ", "", "pushed filters is"),
        ("aggregate", "/data/sales", "/data/shops", "table is shops and sales"),
        ("aggregate", "Batched: true", "Batched: false", "batched is false and true"),
        ("pruned_twice", "PartitionFilters: [isnotnull(day", "PartitionFilters: [isnull(day", "partition filters is"),
        ("window_limit", "ASC NULLS FIRST", "DESC NULLS LAST", "says is"),
        ("top_offset", "offset=2", "offset=3", "says is"),
        ("rollup", "null, 1]", "null, 2]", "says is"),
        ("explode", "explode", "posexplode", "says is"),
        ("arrow_udf", "101", "200", "says is"),
    ],
)
def test_one_altered_thing_is_found_and_named(name: str, old: str, new: str, told: str) -> None:
    assert told in found(name, old, new)


def test_a_missing_conjunct_is_found() -> None:
    condition = re.search(r"Filter (\(.* AND isnotnull\(\w+#\d+L?\)\))", _texts("pruned_twice"))
    assert condition
    without = condition[1][1:].rpartition(" AND ")[0]
    assert "condition is" in found("pruned_twice", condition[1], without)


def test_another_column_of_the_same_name_is_found() -> None:
    left, right = re.findall(r"SortMergeJoin \[(shop#\d+)L\], \[(shop#\d+)L\]", _texts("sort_merge_full"))[0]
    assert left != right
    told = found("sort_merge_full", f"[{left}L], [{right}L]", f"[{right}L], [{left}L]")
    assert "means another column" in told


@pytest.mark.parametrize(("one", "other"), [("a#1 = a#1", "a#1 = a#2"), ("a#1 = a#2", "a#1 = a#1")])
def test_one_column_where_the_other_reading_has_two_is_found(one: str, other: str) -> None:
    left, right = (plan_of(node("Filter", f"Filter ({text})")) for text in (one, other))
    assert "means another column" in "".join(disagreements(left, right))


def test_a_subquery_that_belongs_to_another_comparison_is_found() -> None:
    left, right = (
        plan_of(
            node(
                "Filter", "Filter ((a#7 > Subquery subquery#1) AND (b#8 > Subquery subquery#2))", node("Subquery", name)
            )
        )
        for name in ("Subquery subquery#1", "Subquery subquery#2")
    )
    assert "sub-query means another column" in "".join(disagreements(left, right))


def test_swapped_children_are_found() -> None:
    tree = tree_of("nested_loop", "initial")
    swapped = everywhere(lambda n: {**n, "children": n["children"][::-1]}, tree)
    assert disagreements(from_tree(swapped, "initial"), from_text(text_of("nested_loop", "initial"), "initial"))


@pytest.mark.parametrize("reading", [0, 1])
def test_an_operator_only_one_reading_has_is_found(reading: int) -> None:
    plans = [from_tree(tree_of("union", "initial"), "initial"), from_text(text_of("union", "initial"), "initial")]
    plans[reading] = replace(plans[reading], nodes=plans[reading].nodes[:-1])
    (told,) = disagreements(*plans)
    assert re.search(r"see \d+ and \d+ operators", told)


def test_the_same_operators_under_another_parent_are_found() -> None:
    left = plan_of(node("Union", "", node("Union", "", node("Sort")), node("Sort")))
    right = plan_of(node("Union", "", node("Union", "", node("Sort"), node("Sort"))))
    assert disagreements(left, right) == ("operator 3 (Sort) is under operator 0 and 1",)


def test_another_phase_is_found() -> None:
    plan = from_text(text_of("union", "initial"), "initial")
    assert disagreements(plan, replace(plan, phase="final")) == ("the phase is initial and final",)


@pytest.mark.parametrize(("name", "phase"), CASES)
@settings(deadline=None, max_examples=5)
@given(renumbering=st.randoms(use_true_random=False))
def test_other_numbers_for_the_same_columns_are_no_difference(name: str, phase: str, renumbering) -> None:
    plan = from_text(text_of(name, phase), phase)
    numbers = sorted({n for p in plan.nodes for n in re.findall(r"#(\d+)", p.detail)})
    new = dict(zip(numbers, renumbering.sample(range(10_000), len(numbers)), strict=True))
    other = _rewritten(plan, lambda text: re.sub(r"#(\d+)", lambda m: f"#{new[m[1]]}", text))
    assert disagreements(plan, other) == ()


def test_a_literal_that_looks_like_a_column_is_no_column() -> None:
    # The first reading numbers the column 45, the other 7; the literal keeps its number in both.
    readings = [
        Plan("initial", (PlanNode(0, -1, "Filter", f"Filter ((p#{n} = Brand#45) AND (q#{m} > 1))"),), "x")
        for n, m in ((45, 7), (7, 45))
    ]
    assert disagreements(*readings) == ()


def test_what_stands_below_an_empty_relation_never_ran_and_is_no_part_of_the_plan() -> None:
    tree = from_tree(tree_of("empty_at_run_time", "final"), "final")
    assert [e.kind for e in essence(tree)] == ["EmptyRelation"]


def _texts(name: str) -> str:
    return "\n".join(n["simpleString"] for n in _all(tree_of(name, "initial")))


def _all(tree):
    yield tree
    for child in tree["children"]:
        yield from _all(child)


def _rewritten(plan: Plan, rewrite) -> Plan:
    return replace(plan, nodes=tuple(replace(n, detail=rewrite(n.detail)) for n in plan.nodes))
