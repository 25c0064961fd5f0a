"""A logical plan is the same whenever Spark did the same, in whatever process, folder and moment."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.observe.plans.logical import normalise_logical

pytestmark = pytest.mark.fast

CATALYST = "org.apache.spark.sql.catalyst"
TABLES = {"/data/orders": "orders", "/data/orders_old": "archive", "s3://b/c": "cities"}
Node = dict[str, Any]


def node(name: str, children: int = 0, /, **fields: Any) -> Node:
    return {"class": f"{CATALYST}.{name}", "num-children": children, **fields}


def column(name: str, number: int, jvm: str = "jvm-1") -> Node:
    expression_id = {"product-class": f"{CATALYST}.expressions.ExprId", "id": number, "jvmId": jvm}
    return node("expressions.AttributeReference", name=name, exprId=expression_id, qualifier=["shop", name])


def literal(value: Any) -> Node:
    return node("expressions.Literal", value=str(value), dataType="long")


def plan(first: int = 40, jvm: str = "jvm-1") -> list[Node]:
    """A filter over a relation, whose ids start here."""
    a, b = column("a", first, jvm), column("b", first + 1, jvm)
    above = [node("expressions.GreaterThan", 2), a, literal(5)]
    return [node("Filter", 1, condition=above), node("Relation", output=[[a], [b]], location="file:/data/orders")]


def shuffled(value: Any, chance: random.Random) -> Any:
    """The same with the entries of every mapping in another order."""
    if isinstance(value, dict):
        entries = [(k, shuffled(v, chance)) for k, v in value.items()]
        chance.shuffle(entries)
        return dict(entries)
    return [shuffled(v, chance) for v in value] if isinstance(value, list) else value


@settings(deadline=None)
@given(st.integers(1, 10**9), st.text(), st.randoms(use_true_random=False))
def test_ids_processes_and_orders_do_not_show(first: int, jvm: str, chance: random.Random) -> None:
    tables = list(TABLES.items())
    chance.shuffle(tables)
    assert normalise_logical(shuffled(plan(first, jvm), chance), dict(tables)) == normalise_logical(plan(), TABLES)


def test_what_comes_out_reads_like_the_plan() -> None:
    top, relation = normalise_logical(plan(), TABLES)
    assert top["condition"][1]["exprId"] == {"product-class": f"{CATALYST}.expressions.ExprId", "id": 0}
    assert [c[0]["exprId"]["id"] for c in relation["output"]] == [0, 1]
    assert relation["location"] == "orders"
    assert list(top) == sorted(top)


def test_the_plan_given_is_not_changed() -> None:
    given_ = plan()
    before = copy.deepcopy(given_)
    normalise_logical(given_, TABLES)
    assert given_ == before


CHANGED: dict[str, list[Node]] = {
    "another literal": [
        node("Filter", 1, condition=[node("expressions.GreaterThan", 2), column("a", 40), literal(6)]),
        plan()[1],
    ],
    "another column": [
        node("Filter", 1, condition=[node("expressions.GreaterThan", 2), column("b", 41), literal(5)]),
        plan()[1],
    ],
    "another operator": [
        node("Filter", 1, condition=[node("expressions.LessThan", 2), column("a", 40), literal(5)]),
        plan()[1],
    ],
    "another table": [plan()[0], {**plan()[1], "location": "file:/data/orders_old"}],
    "one operator less": plan()[1:],
}


@pytest.mark.parametrize("changed", CHANGED.values(), ids=CHANGED)
def test_what_the_query_does_shows(changed: list[Node]) -> None:
    assert normalise_logical(changed, TABLES) != normalise_logical(plan(), TABLES)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("file:/data/orders", "orders"),
        ("file:///data/orders", "orders"),
        ("/data/orders/part-0.parquet", "orders/part-0.parquet"),
        ("delta.`/data/orders`", "delta.`orders`"),
        ("/data/orders_old", "archive"),
        ("/data/orders, /data/orders_old", "orders, archive"),
        ("/data/orders_new", "/data/orders_new"),
        ("/clone/data/orders", "/clone/data/orders"),
        ("s3://b/c", "cities"),
    ],
)
@pytest.mark.parametrize("turn", [1, -1])
def test_a_location_becomes_the_name_of_its_table(text: str, shown: str, turn: int) -> None:
    tables = dict(list(TABLES.items())[::turn])
    assert normalise_logical([node("Relation", location=text)], tables)[0]["location"] == shown


# Seeds that Spark drew

DRAWN, OTHER = -5120938012512093801, 771209380177120938


def drawing(seed: Any) -> dict[str, list[Node]]:
    return {
        "rand": [node("expressions.Rand", 1), literal(seed)],
        "randstr": [node("expressions.RandStr", 2), literal(8), literal(seed)],
        "uniform": [node("expressions.Uniform", 3), literal(1), literal(9), literal(seed)],
        "uuid": [node("expressions.Uuid", randomSeed=seed)],
        "shuffle": [node("expressions.Shuffle", 1, randomSeed=seed), column("a", 1)],
        "sample": [node("plans.logical.Sample", 1, seed=seed), node("Relation")],
        "in an expression": [node("expressions.Add", 2), node("expressions.Rand", 1), literal(seed), literal(3)],
    }


@pytest.mark.parametrize("function", drawing(0))
def test_a_seed_that_spark_drew_does_not_show(function: str) -> None:
    first, second = (normalise_logical(drawing(seed)[function], {}) for seed in (DRAWN, OTHER))
    assert first == second
    assert "seed" in str(first)


@pytest.mark.parametrize("function", drawing(0))
def test_a_seed_of_the_query_shows(function: str) -> None:
    assert normalise_logical(drawing(7)[function], {}) != normalise_logical(drawing(8)[function], {})


@pytest.mark.parametrize("value", [DRAWN, 10**15])
def test_a_long_number_elsewhere_is_no_seed(value: int) -> None:
    for plan_ in (
        [node("expressions.GreaterThan", 2), column("a", 1), literal(value)],
        [node("expressions.Uniform", 3), literal(1), literal(value), literal(7)],
        [node("expressions.Add", 2), node("expressions.Rand", 1), literal(7), literal(value)],
        [node("Relation", seed=value)],
    ):
        assert str(value) in str(normalise_logical(plan_, {}))


def test_arguments_of_a_function_that_draws_may_be_expressions() -> None:
    def uniform(seed: int) -> list[Node]:
        return [node("expressions.Uniform", 3), node("expressions.Abs", 1), literal(1), literal(9), literal(seed)]

    assert normalise_logical(uniform(DRAWN), {}) == normalise_logical(uniform(OTHER), {})
    assert normalise_logical(uniform(7), {}) != normalise_logical(uniform(8), {})


def test_what_belongs_to_the_process_or_the_moment_does_not_show() -> None:
    volatile = {"jvmId": "jvm-1", "createTime": 5, "lastAccessTime": 6}
    found = normalise_logical([node("View", desc={**volatile, "name": "v"}, parts=[{"jvmId": "x"}, "y"])], {})
    assert found == [node("View", desc={"name": "v"}, parts=[{}, "y"])]


# Ids that are counted


def ctes(first: int, reference: int) -> list[Node]:
    definitions = [node("plans.logical.CTERelationDef", 1, id=first), node("Relation", name="x")]
    definitions += [node("plans.logical.CTERelationDef", 1, id=first + 1), node("Relation", name="y")]
    return [
        node("plans.logical.WithCTE", 3),
        *definitions,
        node("plans.logical.CTERelationRef", cteId=first + reference),
    ]


def test_the_number_of_a_cte_does_not_show_but_which_one_is_meant_does() -> None:
    assert normalise_logical(ctes(4, 1), {}) == normalise_logical(ctes(90, 1), {})
    assert normalise_logical(ctes(4, 0), {}) != normalise_logical(ctes(4, 1), {})


def test_a_loop_and_what_refers_to_it_keep_together() -> None:
    def loops(first: int, reference: int) -> list[Node]:
        both = [node("plans.logical.UnionLoop", id=first), node("plans.logical.UnionLoop", id=first + 1)]
        return [*both, node("plans.logical.UnionLoopRef", loopId=first + reference)]

    assert normalise_logical(loops(4, 0), {}) == normalise_logical(loops(7, 0), {})
    assert normalise_logical(loops(4, 0), {}) != normalise_logical(loops(4, 1), {})


def test_the_id_of_another_node_is_not_counted() -> None:
    assert normalise_logical([node("Relation", id=4)], {})[0]["id"] == 4


def test_the_number_of_a_subquery_does_not_show() -> None:
    first, second = ([node("expressions.ScalarSubquery", planId=n, outerPlanId=n + 1)] for n in (3, 9))
    assert normalise_logical(first, {}) == normalise_logical(second, {})


# planopt's own node


def test_the_node_that_measures_the_result_is_no_part_of_the_query() -> None:
    digest = node("plans.logical.CollectMetrics", 1, name="planopt_digest")
    assert normalise_logical([digest, *plan()], TABLES) == normalise_logical(plan(), TABLES)


def test_metrics_that_the_query_collects_are_part_of_it() -> None:
    own = node("plans.logical.CollectMetrics", 1, name="mine")
    assert len(normalise_logical([own, *plan()], TABLES)) == 3


def test_no_plan_is_no_plan() -> None:
    assert normalise_logical([], TABLES) == []
