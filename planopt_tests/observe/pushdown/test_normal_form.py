"""How far a predicate is from conjunctive normal form, and how much of that form Parquet could use."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot.optimizer.normalize import normalization_distance

from planopt_assets.model.scan import Conjunct, Expression, Funnel, ScanFacts
from planopt_assets.observe.pushdown.normal_form import normal_form, unpushed_normal_form

pytestmark = pytest.mark.fast


def equal(column: str, value: str) -> Expression:
    return Expression("EqualTo", args=(Expression("Column", column, "long"), Expression("Literal", value, "long")))


def both(*parts: Expression) -> Expression:
    return Expression("And", args=parts)


def either(*parts: Expression) -> Expression:
    return Expression("Or", args=parts)


OTHER = Expression("Like", args=(Expression("Column", "s", "string"), Expression("Literal", "%x%", "string")))
WORKED = either(both(equal("a", "1"), OTHER), both(equal("a", "3"), OTHER))


def scan(*predicates: Expression, pushed: tuple[str, ...] = (), inferred: bool = False) -> ScanFacts:
    conjuncts = tuple(Conjunct("", p, "data", inferred) for p in predicates)
    return ScanFacts("t", 0, 0, "", True, (), conjuncts, pushed, (), (), (), "", Funnel())


def test_the_worked_predicate_grows_by_four_and_has_one_clause_that_can_be_pushed() -> None:
    form = normal_form(WORKED)
    assert (form.leaves, form.clauses, form.distance, form.pushable) == (4, 4, 4, 1)
    assert unpushed_normal_form(scan(WORKED)) == (4, 1)


def test_plain_comparisons_are_pushable_and_functions_are_not() -> None:
    column = Expression("Column", "a", "long")
    plain = [equal("a", "1"), Expression("In", args=(column,)), Expression("IsNull", args=(column,))]
    assert [normal_form(p).pushable for p in plain] == [1, 1, 1]
    two_columns = Expression("EqualTo", args=(column, Expression("Column", "b", "long")))
    wrapped = Expression("In", args=(Expression("Upper", args=(column,)),))
    assert [normal_form(p).pushable for p in (OTHER, two_columns, wrapped)] == [0, 0, 0]


def test_an_or_that_was_pushed_or_that_spark_inferred_is_not_looked_at() -> None:
    plain = either(equal("a", "1"), equal("b", "2"))
    assert unpushed_normal_form(scan(plain, pushed=("Or(EqualTo(a,1),EqualTo(b,2))",))) is None
    assert unpushed_normal_form(scan(WORKED, inferred=True)) is None
    assert unpushed_normal_form(scan(both(equal("a", "1"), OTHER))) is None


def test_of_several_the_nearest_with_a_pushable_clause_counts() -> None:
    hopeless = either(OTHER, equal("a", "1"))
    far = either(both(equal("a", "1"), OTHER, OTHER), both(equal("a", "3"), OTHER))
    assert unpushed_normal_form(scan(hopeless, far, WORKED)) == (4, 1)
    assert unpushed_normal_form(scan(hopeless)) == (0, 0)


TREES = st.recursive(
    st.just(equal("a", "1")),
    lambda inner: st.builds(lambda op, args: Expression(op, args=tuple(args)), st.sampled_from(["And", "Or"]),
                            st.lists(inner, min_size=2, max_size=2)),
    max_leaves=8,
)  # fmt: skip


@settings(deadline=None, max_examples=200)
@given(TREES)
def test_the_distance_is_what_sqlglot_counts(tree: Expression) -> None:
    assert normal_form(tree).distance == normalization_distance(sqlglot.parse_one(f"({_text(tree)})").unnest())


def _text(tree: Expression) -> str:
    if tree.op == "EqualTo":
        return "a = 1"
    return f" {tree.op} ".join(f"({_text(arg)})" for arg in tree.args)


def test_a_predicate_that_grows_without_end_is_counted_not_built() -> None:
    huge = either(*(both(equal("a", "1"), equal("b", "2")) for _ in range(60)))
    assert normal_form(replace(huge)).clauses == 2**60
