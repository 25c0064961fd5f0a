"""A formatted plan is read as the plan tree is, or it is refused; never as another plan."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.errors import ExplainUnreadable
from planopt_assets.model.plan import Plan
from planopt_assets.observe.explain.details import detail
from planopt_assets.observe.explain.text import EXTRACTOR, explain_rows, parse_formatted
from planopt_assets.observe.explain.tree import read_tree
from planopt_assets.observe.plans.agreement import disagreements
from planopt_assets.observe.plans.fingerprint import topology_hash
from planopt_tests.observe.explain_shapes import SHAPES
from planopt_tests.observe.record_explains import RECORDED
from planopt_tests.observe.recorded import CASES, from_text, from_tree, text_of, tree_of

pytestmark = pytest.mark.fast

FOUND_EMPTY = "empty_at_run_time"
HOLDS_SUBQUERIES = ("scalar_nested", "scalar_reused", "pruned_twice")


def test_every_recorded_shape_is_there_before_and_after_it_ran() -> None:
    runs = {s.name: s.runs for s in SHAPES}
    expected = [
        (name, phase) for name in RECORDED for phase in ("initial", "final") if phase == "initial" or runs[name]
    ]
    assert sorted(expected) == CASES


@pytest.mark.parametrize(("name", "phase"), CASES)
def test_the_text_says_what_the_tree_says(name: str, phase: str) -> None:
    text, tree = from_text(text_of(name, phase), phase), from_tree(tree_of(name, phase), phase)
    assert (text.extractor, text.phase) == (EXTRACTOR, phase)
    assert disagreements(tree, text) == ()


@pytest.mark.parametrize(("name", "phase"), [c for c in CASES if c != (FOUND_EMPTY, "final")])
def test_both_readings_have_one_topology(name: str, phase: str) -> None:
    assert topology_hash(from_text(text_of(name, phase), phase)) == topology_hash(
        from_tree(tree_of(name, phase), phase)
    )


# Phases


@pytest.mark.parametrize("name", ["aggregate", "reused_twice", "sort_merge_full", "union", FOUND_EMPTY])
def test_the_initial_section_of_an_executed_plan_is_the_plan_before(name: str) -> None:
    before = from_text(text_of(name, "initial"), "initial")
    assert from_text(text_of(name, "final"), "initial").nodes == before.nodes


def test_the_final_plan_is_another_than_the_initial_one() -> None:
    final, initial = (from_text(text_of("reused_twice", "final"), phase) for phase in ("final", "initial"))
    assert "ReusedExchange" in {n.kind for n in final.nodes}
    assert "ReusedExchange" not in {n.kind for n in initial.nodes}


@pytest.mark.parametrize("name", HOLDS_SUBQUERIES)
def test_an_initial_section_whose_subqueries_spark_does_not_list_is_refused(name: str) -> None:
    with pytest.raises(ExplainUnreadable, match="sub-query that the text does not show"):
        from_text(text_of(name, "final"), "initial")


def test_the_final_plan_of_an_unfinished_query_is_refused() -> None:
    with pytest.raises(ExplainUnreadable, match="has not finished"):
        from_text(text_of("aggregate", "initial"), "final")


def test_a_cached_table_shows_the_plan_that_filled_it_in_either_section() -> None:
    initial = from_text(text_of("cached", "final"), "initial")
    (cached,) = (n.index for n in initial.nodes if n.kind.startswith("Scan In-memory table"))
    below = [n.kind for n in initial.nodes if n.parent >= cached]
    assert "ColumnarToRow" in below  # which only an executed plan has
    assert "ColumnarToRow" not in [n.kind for n in initial.nodes if n.kind not in below]


# Cut, altered and foreign texts


def _plan_or_none(text: str, phase: str) -> Plan | None:
    try:
        return from_text(text, phase)
    except ExplainUnreadable:
        return None


@settings(deadline=None, max_examples=300)
@given(case=st.sampled_from(CASES), share=st.floats(0, 1, exclude_max=True))
def test_a_cut_text_gives_the_same_plan_or_is_refused(case: tuple[str, str], share: float) -> None:
    name, phase = case
    text = text_of(name, phase)
    assert _plan_or_none(text[: int(len(text) * share)], phase) in (None, from_text(text, phase))


@pytest.mark.parametrize(("name", "phase"), CASES)
def test_a_text_cut_by_its_last_line_feed_is_refused(name: str, phase: str) -> None:
    with pytest.raises(ExplainUnreadable, match="cut"):
        from_text(text_of(name, phase)[:-1], phase)


@pytest.mark.parametrize("name", HOLDS_SUBQUERIES)
def test_a_text_cut_before_its_subqueries_is_refused(name: str) -> None:
    head, mark, _ = text_of(name, "initial").partition("===== Subqueries")
    assert mark
    with pytest.raises(ExplainUnreadable, match="sub-query that the text does not show"):
        from_text(head, "initial")


@pytest.mark.parametrize(("name", "phase"), CASES)
def test_a_tree_without_one_of_its_lines_gives_the_same_plan_or_is_refused(name: str, phase: str) -> None:
    tree, _, rest = text_of(name, phase).partition("\n\n")
    lines = tree.split("\n")
    whole = from_text(text_of(name, phase), phase)
    plans = {
        gone: _plan_or_none("\n".join(lines[:gone] + lines[gone + 1 :]) + "\n\n" + rest, phase)
        for gone in range(1, len(lines))
    }
    assert all(plan in (None, whole) for plan in plans.values())
    # A line may go only where it does not count: in the section nobody asked for, or below an empty relation.
    other = lines.index("+- == Initial Plan ==") if "+- == Initial Plan ==" in lines else len(lines)
    if name not in ("cached", FOUND_EMPTY):  # which have such lines further up
        assert {gone for gone, plan in plans.items() if plan} <= set(range(other + 1, len(lines)))


@pytest.mark.parametrize("name", ["aggregate", "nested_loop"])
def test_an_operator_that_lost_its_child_is_refused(name: str) -> None:
    # The scan is in both sections, so its paragraph is not missed.
    tree, _, rest = text_of(name, "final").partition("\n\n")
    lines = tree.split("\n")
    assert "Scan parquet" in lines[-1]
    with pytest.raises(ExplainUnreadable, match="has lost what is below it"):
        from_text("\n".join(lines[:-1]) + "\n\n" + rest, "initial")


@settings(deadline=None, max_examples=100)
@given(st.one_of(st.text(), st.text(alphabet="(1)+-: \n=*AScan").map(lambda t: "== Physical Plan ==\n" + t)))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(ExplainUnreadable):
        parse_formatted(text, phase="initial", tables={})


def test_a_paragraph_that_stands_there_twice_is_refused() -> None:
    text = text_of("top_offset", "initial")
    paragraph = text[text.index("\n\n(1) ") : text.index("\n\n(2) ")]
    with pytest.raises(ExplainUnreadable, match="described 2 times"):
        from_text(text.replace(paragraph, paragraph * 2), "initial")


def test_a_reused_exchange_that_is_nowhere_is_refused() -> None:
    text = text_of("reused_exchange", "final").replace("[Reuses operator id: ", "[Reuses operator id: 99")
    with pytest.raises(ExplainUnreadable, match="reuses 99"):
        from_text(text, "final")


def test_a_subquery_of_an_operator_that_is_nowhere_is_refused() -> None:
    text = text_of("scalar_reused", "initial").replace("Hosting operator id = ", "Hosting operator id = 99")
    with pytest.raises(ExplainUnreadable, match="do not fit the plan"):
        from_text(text, "initial")


def test_a_subquery_that_lost_its_first_line_is_refused() -> None:
    text = text_of("pruned_twice", "initial")
    first_line = text[text.index("Subquery:2 ") : text.index("\n", text.index("Subquery:2 ")) + 1]
    with pytest.raises(ExplainUnreadable):
        from_text(text.replace(first_line, ""), "initial")


def test_a_second_subquery_of_one_operator_that_the_text_does_not_show_is_refused() -> None:
    # Both prune the same scan; the text is made to list the first one in place of the second.
    text = text_of("pruned_twice", "final")
    first, second = re.findall(r"Hosting Expression = .* IN (dynamicpruning#\d+)", text)
    with pytest.raises(ExplainUnreadable, match="sub-query that the text does not show"):
        from_text(text.replace(f" IN {second}\n", f" IN {first}\n"), "final")


def test_a_subquery_that_only_a_pushed_filter_mentions_must_be_there() -> None:
    text = text_of("scalar_reused", "initial")
    last = text.rindex("Subquery:")
    scan = re.match(r"Subquery:\d+ Hosting operator id = (\d+)", text[last:])
    assert scan
    assert f"\n({scan[1]}) Scan parquet" in text
    with pytest.raises(ExplainUnreadable, match="sub-query that the text does not show"):
        from_text(text[:last] + "\n", "initial")


def test_paragraphs_in_another_order_are_refused() -> None:
    text = text_of("top_offset", "initial")
    one, two, three = (text.index(f"\n\n({n}) ") for n in (1, 2, 3))
    with pytest.raises(ExplainUnreadable, match="order of their numbers"):
        from_text(text[:two] + text[three:].removesuffix("\n\n") + text[two:three] + "\n\n", "initial")
    with pytest.raises(ExplainUnreadable, match="between the tree and operator 1"):
        from_text(text[: one + 1] + "something\n" + text[one + 1 :], "initial")


def test_a_second_place_where_the_subqueries_could_begin_is_refused() -> None:
    text = text_of("scalar_reused", "initial")
    begin = text.index("\n\n===== Subqueries")
    line = text[begin : text.index("Hosting Expression", begin)] + "Hosting Expression = x\n"
    with pytest.raises(ExplainUnreadable, match="two ways"):
        from_text(text[:begin] + line + text[begin:], "initial")


def test_a_text_that_goes_on_after_its_end_is_refused() -> None:
    text = text_of("scalar_reused", "final")  # ends with a reused sub-query, which has no paragraph to take it in
    with pytest.raises(ExplainUnreadable, match="goes on after the plan"):
        from_text(text + "more\n", "final")


def test_an_adaptive_plan_that_does_not_say_whether_it_finished_is_refused() -> None:
    with pytest.raises(ExplainUnreadable, match="does not say whether"):
        from_text(text_of("aggregate", "final").replace("isFinalPlan=true", ""), "final")


@pytest.mark.parametrize(
    "tree",
    [
        "Union (3)\n:- Scan a (1)",  # `:-` promises a sibling
        "Union (3)\n+- Scan a (1)\n+- Scan b (2)",  # `+-` is the last
        "Project (2)\n   +- Filter (1)\n+- Scan a (3)\n+- Scan b (4)",
        "Project (2)\n  +- Scan a (1)",  # an arm between two columns
        " Project (2)\n +- Scan a (1)",
        "Project (2)\nScan a (1)",
        "Project (3)\n+- == Final Plan ==\n   Scan a (1)\n+- == Initial Plan ==\n   Scan a (2)",
        "AdaptiveSparkPlan (3)\n+- == Final Plan ==\n   Scan a (1)",
        "AdaptiveSparkPlan (3)\n+- == Initial Plan ==\n   Scan a (1)",
        "AdaptiveSparkPlan (3)\n+- == Final Plan ==",
    ],
)
def test_a_tree_that_is_drawn_otherwise_is_refused(tree: str) -> None:
    with pytest.raises(ExplainUnreadable):
        read_tree(tree)


def test_a_tree_too_deep_for_the_stack_is_refused_as_well() -> None:
    lines = ["Filter (1)", *(f"{'   ' * depth}+- Filter ({depth + 2})" for depth in range(5_000))]
    assert read_tree("\n".join(lines[:150])).label == "Filter"
    with pytest.raises(ExplainUnreadable, match="deeper than"):
        read_tree("\n".join(lines))


# Rows


def test_explain_as_rows_has_each_line_of_the_tree_with_its_paragraph() -> None:
    rows = explain_rows(text_of("top_offset", "initial"))
    assert [(r.position, r.node) for r in rows] == [
        (0, "TakeOrderedAndProject"),
        (1, "ColumnarToRow"),
        (2, "Scan parquet"),
    ]
    assert [r.node_id for r in rows] == [3, 2, 1]
    assert rows[0].text.splitlines()[1].startswith("Arguments: 9, [id#")


def test_explain_as_rows_has_the_lines_of_subqueries_too() -> None:
    text = text_of("scalar_nested", "initial")
    rows = explain_rows(text)
    assert {r.node_id for r in rows} == set(range(1, max(r.node_id or 0 for r in rows) + 1))
    assert all(r.text in text for r in rows)


# Literals


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (
            "Scan parquet",
            "Output [1]: [a#1]\nBatched: true\nLocation: Index [file:/data/sales]\n"
            "PushedFilters: [EqualTo(a,x\nReadSchema: y)]\nReadSchema: struct<a:string>",
        ),
        ("Project", "Output [1]: [x\nInput [1]: [y] AS a#1]\nInput [1]: [b#2]"),
        ("HashAggregate", "Input: []\nKeys: []\nFunctions [1]: [max(x\nResults [1]: [y])]\nResults [1]: [b#2]"),
    ],
)
def test_a_literal_that_could_be_the_next_field_is_refused(kind: str, body: str) -> None:
    with pytest.raises(ExplainUnreadable, match="can be read in two ways"):
        detail(kind, kind, body)


def test_a_literal_that_could_be_the_same_field_again_is_read() -> None:
    assert detail("Filter", "Filter", "Input [1]: [a#1]\nCondition : (a#1 = x\nCondition : y)") == (
        "Filter (a#1 = x\nCondition : y)"
    )
