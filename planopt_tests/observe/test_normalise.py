"""A normalised plan is equal whenever the planner did the same thing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.model.plan import ROOT
from planopt_assets.observe.plans.normalise import DIGEST_NAME, normalise
from planopt_tests.observe.captured import FIXTURES, Info, captured, everywhere, node, outline, plan_of

pytestmark = pytest.mark.fast

SHELLS = (
    "WholeStageCodegen (3)",
    "InputAdapter",
    "AdaptiveSparkPlan",
    "ResultQueryStage",
    "ShuffleQueryStage",
    "BroadcastQueryStage",
    "TableCacheQueryStage",
)
ADAPTIVE_ONLY = ("AQEShuffleRead", "ColumnarToRow")  # what the final plan has and the initial plan has not


def without(info: Info, names: tuple[str, ...]) -> Info:
    """The tree with the nodes of these names cut out, their children moved up."""

    def lift(n: Info) -> Info:
        children = [g for c in n["children"] for g in (c["children"] if c["nodeName"] in names else [c])]
        return {**n, "children": children}

    return everywhere(lift, info)


@pytest.mark.parametrize("phase", ["initial", "final"])
def test_a_captured_plan_reads_like_this(phase: str) -> None:
    assert outline(plan_of(captured(phase))) == (FIXTURES / f"{phase}.txt").read_text(encoding="utf-8")


# Shells


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_around_every_operator_changes_nothing(shell: str) -> None:
    bare = captured("initial")
    assert plan_of(everywhere(lambda n: node(shell, "", n), bare)) == plan_of(bare)


def test_an_operator_that_is_no_shell_counts() -> None:
    bare = captured("initial")
    assert plan_of(node("Coalesce", "Coalesce 1", bare)) != plan_of(bare)


def test_no_shell_of_a_final_plan_is_left() -> None:
    kinds = {n.kind for n in plan_of(captured("final")).nodes}
    assert not [k for k in kinds if k.startswith(("WholeStage", "InputAdapter", "Adaptive")) or "QueryStage" in k]


def test_the_final_plan_is_the_initial_plan_with_what_adaptive_execution_put_in() -> None:
    final = without(captured("final"), ADAPTIVE_ONLY)
    assert plan_of(final).nodes == plan_of(captured("initial")).nodes


# Reuse


def test_a_reused_exchange_is_not_entered_twice() -> None:
    exchange = node("Exchange", "Exchange hashpartitioning(a#1, 8)", node("Scan parquet ", "FileScan parquet [a#1]"))
    reused = node("ReusedExchange", "ReusedExchange [a#9], Exchange hashpartitioning(a#1, 8)", exchange)
    plan = plan_of(node("Union", "Union", exchange, reused))
    assert [(n.kind, n.parent) for n in plan.nodes] == [
        ("Union", ROOT),
        ("Exchange", 0),
        ("Scan parquet", 1),
        ("ReusedExchange", 0),
    ]


# Expression ids


def test_expression_ids_are_numbered_by_first_appearance() -> None:
    plan = plan_of(node("Sort", "Sort [b#91L ASC, a#17 ASC]", node("Project", "Project [a#17, b#91L, c#5]")))
    assert [n.detail for n in plan.nodes] == ["Sort [b#0 ASC, a#1 ASC]", "Project [a#1, b#0, c#2]"]


# Seeds


@pytest.mark.parametrize(
    "call", ["rand(8123456789012345678)", "rand(-8123456789012345678)", "randn(-441122334455667788)"]
)
def test_a_seed_drawn_at_analysis_is_neutral(call: str) -> None:
    (project,) = plan_of(node("Project", f"Project [{call} AS r#1]")).nodes
    assert project.detail == f"Project [{call.partition('(')[0]}(seed) AS r#0]"


@pytest.mark.parametrize("text", ["uuid(Some(-8123456789012345678))", "shuffle(a#1, Some(812345678901234567))"])
def test_a_seed_inside_some_is_neutral_too(text: str) -> None:
    (project,) = plan_of(node("Project", f"Project [{text} AS r#2]")).nodes
    assert "seed" in project.detail
    assert "81234567890" not in project.detail


def test_a_literal_that_looks_like_an_expression_id_stays_when_ids_start_higher() -> None:
    text = "Filter (p_brand#1000000055 = Brand#45)"
    plan = normalise(node("Filter", text), phase="initial", tables={}, first_id=1_000_000_000)
    assert plan.nodes[0].detail == "Filter (p_brand#0 = Brand#45)"


def test_a_seed_the_author_wrote_stays() -> None:
    (project,) = plan_of(node("Project", "Project [rand(7) AS r#1]")).nodes
    assert project.detail == "Project [rand(7) AS r#0]"


def test_a_large_literal_that_is_no_seed_stays() -> None:
    (filtered,) = plan_of(node("Filter", "Filter (key#1 = abs(8123456789))")).nodes
    assert filtered.detail == "Filter (key#0 = abs(8123456789))"


# planopt's own node


def test_the_digest_node_is_no_part_of_the_plan() -> None:
    bare = node("Sort", "Sort [a#1 ASC]")
    digest = node("CollectMetrics", f"CollectMetrics {DIGEST_NAME}, [count(1) AS rows#2L]", bare)
    assert plan_of(digest) == plan_of(bare)


def test_metrics_the_author_observes_are_part_of_the_plan() -> None:
    own = node("CollectMetrics", "CollectMetrics my_rows, [count(1) AS n#2L]", node("Sort", "Sort [a#1 ASC]"))
    assert [n.kind for n in plan_of(own).nodes] == ["CollectMetrics", "Sort"]


# Locations


@pytest.mark.parametrize("path", ["/data/orders", "file:/data/orders", "file:///data/orders", "file:/data/orders/"])
def test_a_location_becomes_the_registered_name_however_spark_writes_it(path: str) -> None:
    text = f"FileScan parquet [] Location: PreparedDeltaFileIndex(1 paths)[{path}], PartitionFilters: []"
    (scan,) = plan_of(node("Scan parquet ", text)).nodes
    assert scan.detail == "FileScan parquet [] Table: orders, PartitionFilters: []"


def test_a_location_nobody_registered_leaves_no_path_in_the_plan() -> None:
    (scan,) = plan_of(node("Scan parquet ", "FileScan Location: InMemoryFileIndex(1 paths)[file:/home/me/x]")).nodes
    assert scan.detail == "FileScan Table: unregistered"


# Metrics


def test_metrics_are_named_values_and_one_that_was_never_updated_is_absent() -> None:
    scan = node("Scan parquet ", metrics=(("number of files read", 7), ("size of files read", 8)))
    (found,) = plan_of(scan, metric_values={7: 120, 99: 1}).nodes
    assert (found.metric("number of files read"), found.metric("size of files read")) == (120, None)


# Structure

KINDS = st.sampled_from([*SHELLS, "Sort", "Project", "Union", "ReusedExchange"])
TREES = st.recursive(
    st.builds(node, KINDS),
    lambda inner: st.builds(lambda kind, below: node(kind, "", *below), KINDS, st.lists(inner, max_size=3)),
    max_leaves=15,
)


@settings(deadline=None)
@given(TREES)
def test_every_node_comes_after_its_parent_and_knows_its_place(tree: Info) -> None:
    nodes = plan_of(tree).nodes
    assert [n.index for n in nodes] == list(range(len(nodes)))
    assert all(ROOT <= n.parent < n.index for n in nodes)
