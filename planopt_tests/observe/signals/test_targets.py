"""A physical join is found again in the query as its author wrote it, or not named at all."""

from __future__ import annotations

from typing import Any

import pytest

from planopt_assets.engine.sessions.session import FIRST_EXPRESSION_ID
from planopt_assets.model.hint import Hint
from planopt_assets.observe.signals.targets import join_targets
from planopt_tests.observe.join_shapes import SHAPES, recorded_run

pytestmark = pytest.mark.fast

NAMELESS = ("", "")


def targets_of(name: str) -> list[tuple[str, str]]:
    """Of every join of the final plan, from the top."""
    run = recorded_run(name)
    found = join_targets(run.tree, run.analyzed, FIRST_EXPRESSION_ID)
    assert all("Join" in run.final.nodes[index].kind for index in found)
    return [found[index] for index in sorted(found)]


def test_inputs_are_called_by_join_side_and_alias() -> None:
    assert targets_of("switched") == [("join0.left s", "join0.right c")]


def test_joins_are_counted_from_the_top_and_a_join_of_joins_has_no_alias() -> None:
    assert targets_of("three") == [("join0.left", "join0.right v"), ("join1.left s", "join1.right p")]


def test_where_spark_changed_the_order_an_input_keeps_its_own_name_and_a_new_join_has_none() -> None:
    # Written as (s, v), p; it ran as (s, p), v.
    assert targets_of("reordered") == [("", "join1.right v"), ("join1.left s", "join0.right p")]


def test_a_join_that_was_a_sub_query_has_no_name_though_its_input_is_also_joined() -> None:
    assert targets_of("semi") == [("join0.left s", "join0.right p"), NAMELESS, NAMELESS]


def test_joins_inside_a_sub_query_are_not_counted() -> None:
    assert [n.kind for n in recorded_run("nested").final.nodes].count("SortMergeJoin") > 1
    assert targets_of("nested") == [("join0.left s", "join0.right p")]


def test_a_derived_table_is_called_by_its_alias() -> None:
    assert targets_of("grouped") == [("join0.left t", "join0.right v")]
    assert targets_of("renamed") == [("join0.left a", "join0.right b")]


def test_a_cte_is_an_input_where_it_is_used_and_its_joins_come_first() -> None:
    assert targets_of("cte_once") == [("join1.left t", "join1.right v"), ("join0.left s", "join0.right p")]


def test_a_cte_used_twice_is_two_inputs() -> None:
    assert targets_of("cte_twice") == [("join0.left a", "join0.right b")]


def test_a_table_joined_to_itself_is_two_inputs() -> None:
    assert targets_of("self") == [("join0.left a", "join0.right b")]


def test_a_join_without_equal_keys_is_known_by_what_it_joins() -> None:
    assert targets_of("unequal") == [("join0.left a", "join0.right b")]


def test_branches_of_a_union_are_counted_one_after_the_other_and_a_written_semi_join_counts() -> None:
    assert targets_of("branches") == [("join0.left s", "join0.right p"), ("join1.left v", "join1.right q")]


def test_an_input_of_a_frame_has_an_alias_only_where_it_was_given_one() -> None:
    assert targets_of("frame") == [("join0.left", "join0.right p")]


def test_a_hint_of_the_author_does_not_hide_the_input() -> None:
    assert targets_of("hinted") == [("join0.left s", "join0.right p")]


def test_a_set_operation_is_no_join_of_the_author_and_does_not_hide_the_one_it_was_moved_below() -> None:
    assert targets_of("common") == [("join0.left s", "join0.right p"), NAMELESS]


def test_an_input_may_have_lost_a_relation_that_nobody_needs() -> None:
    assert targets_of("dropped") == [("join0.left", "join0.right v")]


def test_dynamic_pruning_puts_no_table_into_the_other_input() -> None:
    assert targets_of("pruned") == [("join0.left v", "join0.right p")]


@pytest.mark.parametrize("shape", [s.name for s in SHAPES])
def test_a_target_can_be_written_as_a_hint_and_names_one_input_only(shape: str) -> None:
    named = [target for pair in targets_of(shape) for target in pair if target]
    assert all(str(Hint.parse(str(Hint("broadcast", t)))) == f"broadcast({t})" for t in named)
    assert len({(Hint("merge", t).join, Hint("merge", t).side) for t in named}) == len(named)


# By hand, where Spark is hard to make do it


def column(number: int) -> list[dict[str, Any]]:
    return [{"class": "x.AttributeReference", "num-children": 0, "name": "k", "exprId": {"id": number}}]


def relation(number: int) -> dict[str, Any]:
    return {"class": "x.LogicalRelation", "num-children": 0, "output": [column(number)]}


def alias(name: str) -> dict[str, Any]:
    return {"class": "x.SubqueryAlias", "num-children": 1, "identifier": {"name": name}}


def join(kind: str = "Inner") -> dict[str, Any]:
    return {"class": "x.Join", "num-children": 2, "joinType": {"object": f"x.{kind}$"}, "condition": []}


def physical(text: str, *children: dict[str, Any]) -> dict[str, Any]:
    return {"nodeName": text.split(" ")[0], "simpleString": text, "children": list(children), "metrics": []}


ASKED = [join(), alias("a"), relation(11), alias("b"), relation(12)]
RAN = physical("SortMergeJoin [k#11], [k#12], Inner", physical("Scan [k#11]"), physical("Scan [k#12]"))


def test_the_left_input_is_named_by_what_it_is_and_not_by_where_it_stands() -> None:
    swapped = physical("SortMergeJoin [k#12], [k#11], Inner", *reversed(RAN["children"]))
    assert join_targets(RAN, ASKED, 10) == {0: ("join0.left a", "join0.right b")}
    assert join_targets(swapped, ASKED, 10) == {0: ("join0.right b", "join0.left a")}


def test_places_are_those_of_the_normalised_plan() -> None:
    shells = physical("WholeStageCodegen (1)", physical("Sort [k#11]", physical("InputAdapter", RAN)))
    assert join_targets(shells, ASKED, 10) == {1: ("join0.left a", "join0.right b")}


@pytest.mark.parametrize("name", ["my table", "__auto_generated_subquery_name"])
def test_a_name_that_no_hint_can_hold_is_left_out(name: str) -> None:
    assert join_targets(RAN, [join(), alias(name), *ASKED[2:]], 10) == {0: ("join0.left", "join0.right b")}


def test_a_number_in_a_literal_is_no_column() -> None:
    ran = physical("SortMergeJoin [k#11, Brand#45], [k#12, Brand#45], Inner", *RAN["children"])
    assert join_targets(ran, ASKED, 50) == {0: NAMELESS}  # nothing is an id, so nothing is known
    ids_from_eleven = [{**RAN, "simpleString": "SortMergeJoin [k#11, B#4], [k#12, B#4], Inner"}]
    assert join_targets(ids_from_eleven[0], ASKED, 10) == {0: ("join0.left a", "join0.right b")}


def test_a_semi_join_is_not_an_inner_join_on_the_same_columns() -> None:
    semi = {**RAN, "simpleString": "SortMergeJoin [k#11], [k#12], LeftSemi"}
    assert join_targets(semi, ASKED, 10) == {0: NAMELESS}
    assert join_targets(semi, [join("LeftSemi"), *ASKED[1:]], 10) == {0: ("join0.left a", "join0.right b")}


def test_two_joins_that_could_be_meant_are_none() -> None:
    twice = [{"class": "x.Union", "num-children": 2}, *ASKED, *ASKED]
    assert join_targets(RAN, twice, 10) == {0: NAMELESS}
