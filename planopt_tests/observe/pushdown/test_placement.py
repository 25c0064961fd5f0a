"""Each predicate once, with the place it ended up in; what Spark and Delta added by themselves is told apart."""

from __future__ import annotations

import pytest

from planopt_assets.model.scan import Expression
from planopt_assets.observe.pushdown.logical_plan import Relation
from planopt_assets.observe.pushdown.placement import placed, pushed_filters
from planopt_tests.observe.pushdown.facts import call, column, compare, literal

pytestmark = pytest.mark.fast

ID, DAY = compare("EqualTo", "id", 5), compare("EqualTo", "day", "2024-01-01")
UDF = call("PythonUDF", column("id"), name="odd")


def relation(*filters: Expression, joined: tuple[str, ...] = ()) -> Relation:
    return Relation(frozenset({1}), filters, frozenset(joined))


def places(*args) -> dict[str, str]:
    return {c.text: c.place for c in placed(*args)[0]}


def test_a_filter_of_the_scan_is_not_repeated_as_one_above_it() -> None:
    trees = {"partition": (DAY,), "data": (ID,), "skipping": (ID,), "unused": (UDF,)}
    assert places(trees, relation(DAY, ID, UDF)) == {
        "day = '2024-01-01'": "partition",
        "id = 5": "data",
        "odd(id)": "above",
    }


def test_without_a_relation_what_delta_did_not_use_stands_in() -> None:
    assert places({"unused": (UDF,)}, None) == {"odd(id)": "above"}


def test_a_sub_query_that_only_delta_saw_became_a_join() -> None:
    listed = call("InSubquery", column("id"), call("ListQuery"))
    assert places({"unused": (listed,)}, relation()) == {"id IN (subquery)": "join"}


def test_runtime_filters_are_named_and_a_wish_to_prune_is_not_one() -> None:
    pruning = call("DynamicPruningExpression", call("InSubqueryExec", column("day")))
    bloom = call("BloomFilterMightContain", call("ScalarSubquery"), call("XxHash64", column("id")))
    wish = call("DynamicPruningSubquery", column("day"))
    conjuncts, runtime = placed({"partition": (pruning,)}, relation(wish, bloom))
    assert (conjuncts, runtime) == ((), ("dynamic pruning on day", "bloom filter on id"))
    assert placed({}, relation(wish)) == ((), ())


def test_filters_of_deletion_vectors_are_left_out() -> None:
    hidden = call("EqualTo", Expression("Column", "__delta_internal_is_row_deleted", "byte"), literal(0))
    assert places({"data": (hidden, ID)}, None) == {"id = 5": "data"}
    text = "[EqualTo(__delta_internal_is_row_deleted,0), EqualTo(id,ScalarSubquery#1000002694)]"
    assert pushed_filters(text) == ("EqualTo(id,ScalarSubquery)",)


@pytest.mark.parametrize(
    ("others", "joined", "inferred"),
    [((), (), False), ((ID,), (), True), ((), ("ID",), True), ((DAY,), ("code",), False)],
)
def test_not_null_is_inferred_where_a_predicate_or_a_join_needs_it(others, joined, inferred: bool) -> None:
    not_null = call("IsNotNull", column("id"))
    found, _ = placed({"data": (not_null, *others)}, relation(joined=joined))
    assert found[0].inferred == inferred


def test_what_spark_took_out_of_an_or_for_the_data_columns_is_inferred() -> None:
    whole = call("Or", call("And", DAY, ID), call("And", DAY, compare("EqualTo", "id", 6)))
    part = call("Or", ID, compare("EqualTo", "id", 6))
    found, _ = placed({"data": (part,), "skipping": (whole,)}, relation(whole))
    assert [(c.place, c.inferred) for c in found] == [("data", True), ("above", False)]
    seen, _ = placed({"data": (part,), "skipping": (part,)}, relation(whole))
    assert [c.inferred for c in seen] == [False, False]
