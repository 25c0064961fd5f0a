"""Why a predicate cannot be used, and what to write instead, from its tree alone."""

from __future__ import annotations

import pytest

from planopt_assets.model.scan import Expression
from planopt_assets.observe.pushdown.causes import cause_of
from planopt_assets.observe.pushdown.eligibility import usable
from planopt_assets.observe.pushdown.families import family
from planopt_tests.observe.pushdown.facts import OFFERS, call, column, compare, literal

pytestmark = pytest.mark.fast

TEXT = "string"
AVOIDABLE = [
    (
        call("EqualTo", call("Year", column("ts")), literal(2024)),
        "date_function",
        "ts >= '2024-01-01' AND ts < '2025-01-01'",
    ),
    (call("EqualTo", literal(7), call("Add", column("id"), literal(1))), "arithmetic", "so that id stands alone"),
    (
        call("EqualTo", call("Substring", column("code"), literal(1), literal(2)), literal("ab", TEXT)),
        "prefix_function",
        "code LIKE 'ab%'",
    ),
    (call("Like", column("code"), literal("ab_c%", TEXT)), "pattern_prefix", "code LIKE 'ab%'"),
    (call("RLike", column("code"), literal("^ab[0-9]", TEXT)), "pattern_prefix", "code LIKE 'ab%'"),
    (
        call("EqualTo", call("Coalesce", column("id"), literal(0)), literal(5)),
        "null_replacement",
        "write id = 5",
    ),
    (
        call("EqualNullSafe", compare("GreaterThan", "id", 5), literal("true", "boolean")),
        "condition_as_value",
        "id > 5",
    ),
    (compare("EqualTo", "late", 5), "no_statistics", "delta.dataSkippingStatsColumns"),
    (
        call("Or", compare("EqualTo", "id", 5), compare("EqualTo", "late", 5)),
        "or_leg",
        "delta.dataSkippingStatsColumns",
    ),
    (call("Or", compare("EqualTo", "id", 5), compare("EqualTo", "day", "2024-01-01")), "or_with_partition", "UNION"),
]
INHERENT = [
    (call("EqualTo", call("Substring", column("code"), literal(2), literal(2)), literal("ab", TEXT)), "function"),
    (call("EqualTo", call("Coalesce", column("id"), literal(5)), literal(5)), "function"),
    (call("EqualTo", call("Month", column("ts")), literal(3)), "function"),
    (call("EqualTo", call("Remainder", column("id"), literal(2)), literal(0)), "function"),
    (call("Like", column("code"), literal("%ab", TEXT)), "pattern"),
    (call("RLike", column("code"), literal("ab$", TEXT)), "pattern"),
    (call("LessThan", column("id"), column("late")), "column_comparison"),
    (call("EqualTo", call("GetArrayItem", column("tags"), literal(0)), literal("x", TEXT)), "inside_collection"),
    (call("Not", call("In", column("id"), literal(1), literal(2))), "negation"),
    (column("flag"), "no_min_max"),
    (call("Not", column("flag")), "no_min_max"),
    (call("LessThan", call("Rand"), literal(0.5, "double")), "nondeterministic"),
    (call("EqualTo", column("id"), call("ScalarSubquery")), "subquery"),
    (call("Or", compare("EqualTo", "id", 5), call("EndsWith", column("code"), literal("x", TEXT))), "or_leg"),
]


@pytest.mark.parametrize(("predicate", "name", "fix"), AVOIDABLE, ids=[name for _, name, _ in AVOIDABLE])
def test_an_avoidable_cause_says_what_to_do(predicate: Expression, name: str, fix: str) -> None:
    assert usable(predicate, OFFERS) in ("nothing", "row groups")
    cause = cause_of(predicate, OFFERS)
    assert cause.name == name
    assert fix in cause.fix


@pytest.mark.parametrize(("predicate", "name"), INHERENT, ids=[name for _, name in INHERENT])
def test_what_cannot_be_avoided_offers_no_fix(predicate: Expression, name: str) -> None:
    cause = cause_of(predicate, OFFERS)
    assert (cause.name, cause.fix) == (name, "")
    assert cause.reason


@pytest.mark.parametrize(
    ("predicate", "level"),
    [
        (compare("EqualTo", "id", 5), "files"),
        (call("EqualTo", literal(5), column("id")), "files"),
        (call("EqualNullSafe", column("flag"), literal("NULL", "boolean")), "files"),
        (call("IsNull", column("flag")), "files"),
        (call("IsNull", column("tags")), "nothing"),
        (compare("EqualTo", "flag", "true"), "row groups"),
        (compare("EqualTo", "late", 5), "row groups"),
        (call("Not", call("Or", compare("LessThan", "id", 5), compare("GreaterThan", "id", 9))), "files"),
        (call("Not", call("StartsWith", column("code"), literal("a", TEXT))), "row groups"),
        (call("And", compare("EqualTo", "id", 5), call("EndsWith", column("code"), literal("x", TEXT))), "files"),
        (call("EqualTo", call("Upper", column("day")), literal("x", TEXT)), "partitions"),
        (call("EqualTo", column("day"), call("ScalarSubquery")), "partitions"),
        (call("PythonUDF", column("day"), name="odd"), "nothing"),
        (call("EqualTo", Expression("Column", "ID", "long"), literal(5)), "files"),
        (call("EqualTo", Expression("Column", "unknown", "long"), literal(5)), "nothing"),
    ],
)
def test_the_strongest_use_of_a_predicate(predicate: Expression, level: str) -> None:
    assert usable(predicate, OFFERS) == level


@pytest.mark.parametrize(
    ("predicate", "name"),
    [
        (compare("EqualTo", "id", 5), "equality"),
        (compare("EqualTo", "day", "2024-01-01"), "partition_equality"),
        (compare("LessThan", "id", 5), "range"),
        (call("In", column("id"), literal(1)), "in_list"),
        (call("StartsWith", column("code"), literal("a", TEXT)), "prefix"),
        (call("IsNull", column("id")), "null_test"),
        (call("Not", compare("EqualTo", "id", 5)), "inequality"),
        (call("EndsWith", column("code"), literal("a", TEXT)), "pattern"),
        (call("EqualTo", call("Cast", column("id"), kind=TEXT), literal("5", TEXT)), "cast"),
        (call("EqualTo", call("Upper", column("code")), literal("A", TEXT)), "function"),
        (call("LessThan", column("id"), column("late")), "column_comparison"),
        (call("PythonUDF", column("id"), name="odd"), "udf"),
        (column("flag"), "boolean"),
    ],
)
def test_the_family_of_a_predicate(predicate: Expression, name: str) -> None:
    assert family(predicate, OFFERS) == name


def test_a_partition_filter_that_delta_derived_belongs_to_the_family_it_came_from() -> None:
    later = compare("GreaterThan", "day", "2024-01-01")
    assert family(call("Or", later, call("IsNull", later)), OFFERS) == "partition_range"
    assert family(call("Or", later, call("IsNull", column("day"))), OFFERS) == "partition_disjunction"
