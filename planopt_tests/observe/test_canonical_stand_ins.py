"""Where a text has no canonical form: the reason is told, and the analysed plan stands in."""

from __future__ import annotations

import pytest
from sqlglot import exp

from planopt_assets.model.canonical import Canonical
from planopt_assets.observe.sql.binder import resolve_names
from planopt_assets.observe.sql.canonical import canonical_form, canonical_from_analyzed
from planopt_assets.observe.sql.edits import edit_list
from planopt_assets.observe.sql.tokens import SPARK, NotCanonical
from planopt_tests.observe.shop_tables import SHOP_SCHEMAS

pytestmark = pytest.mark.fast


def canonical(sql: str) -> Canonical:
    return canonical_form(sql, SHOP_SCHEMAS)


# Without a canonical text

REFUSED = {
    "SELECT id FROM nowhere": "the columns of `nowhere` are not known",
    "SELECT 1 FROM (TABLE shops)": "the columns of `TABLE` are not known",
    "SHOW TABLES": "it does not begin like a query",
    "TABLE shops": "it does not begin like a query",
    "SELECT 1; SELECT 2": "it is more than one statement",
    "SELECT 'open": "a quote or a comment has no end",
    "SELECT id FROM shops STREAM": "`STREAM` could be an alias or a word of the language",
    "FROM sales |> DROP id": "sqlglot cannot parse it at line 1, column 18: Unsupported pipe syntax operator: 'DROP'.",
    "SELECT 1 -- a \\\n AS x": "a comment that ends in a backslash goes on in the next line for Spark",
    "SELECT 1 AS x /*+ BROADCAST(x) */": "a hint stands where Spark does not look for one",
    "": "it does not begin like a query",
    "SELECT d.a FROM (SELECT id, shop FROM sales) d(a)": "a table has another number of columns than its alias names",
    "SELECT id FROM sales VERSION AS OF (SELECT 1)": "a sub-query chooses the version of a table",
    "SELECT id AS a FROM sales UNION BY NAME SELECT shop AS a FROM shops": "a union matches columns by name",
    "SELECT x.id FROM (sales JOIN shops USING (shop)) x": "`Table` is no query that can be read",
    "SELECT id FROM UNNEST(array(1)) AS t(id)": "`Unnest` in FROM cannot be read",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_text_without_canonical_form_says_why(text: str) -> None:
    found = canonical(text)
    assert found == Canonical("analyzed_plan", text, found.fingerprint, REFUSED[text])
    assert canonical(text + " ").fingerprint != found.fingerprint  # the exact text


def test_a_column_nobody_looked_at_is_no_ground_to_stand_on() -> None:
    tree = SPARK.parse("SELECT id FROM sales")[0]
    assert tree is not None
    assert resolve_names(tree, SHOP_SCHEMAS, frozenset()).known
    table = tree.find(exp.Table)
    assert table is not None
    table.set("when", exp.column("x"))
    with pytest.raises(NotCanonical, match="it is not certain what `x` means"):
        resolve_names(tree, SHOP_SCHEMAS, frozenset())


@pytest.mark.parametrize("text", ["SELECT " + "(" * 5000 + "1" + ")" * 5000, "SELECT " + "-" * 1 + "- 1" * 20_000])
def test_depth_is_no_danger(text: str) -> None:
    assert canonical(text).form in ("sqlglot", "analyzed_plan")


def test_a_long_predicate_is_no_danger() -> None:
    text = "SELECT id FROM sales WHERE " + " AND ".join(f"id <> {n}" for n in range(300))
    found = canonical(text)
    assert found.form == "sqlglot"
    (edit,) = edit_list(text, text.replace("id <> 150", "id <> 5000"), SHOP_SCHEMAS)
    assert str(edit) == "predicate: id <> 150 -> id <> 5000"


# From the plan


def test_ids_of_an_analysed_plan_do_not_matter() -> None:
    plan = (
        "WithCTE\n:- CTERelationDef {c}, false\n:  +- Project [a#{x}L AS k#{y}L]\n+- CTERelationRef {c}, true, [k#{y}L]"
    )
    one = canonical_from_analyzed(plan.format(c=4, x=17, y=18), "a DataFrame query")
    other = canonical_from_analyzed(plan.format(c=9, x=71, y=80), "a DataFrame query")
    assert one == other
    assert (one.form, one.reason) == ("analyzed_plan", "a DataFrame query")
    assert canonical_from_analyzed(one.sql).fingerprint == one.fingerprint


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Filter (a#1 > 1)", "Filter (a#1 > 2)"),
        ("Project [a#1, b#2]", "Project [a#1, a#1]"),
        ("Filter (p = Brand#45)", "Filter (p = Brand#46)"),
    ],
)
def test_everything_else_in_a_plan_matters(one: str, other: str) -> None:
    first, second = canonical_from_analyzed(one, first_id=1000), canonical_from_analyzed(other, first_id=1000)
    assert first.fingerprint != second.fingerprint


def test_a_seed_drawn_at_analysis_does_not_matter_but_a_given_one_does() -> None:
    drawn = [
        canonical_from_analyzed(f"Project [rand({seed}) AS r#1]") for seed in (8023456789012345678, -91234567890123456)
    ]
    assert drawn[0].fingerprint == drawn[1].fingerprint
    given_seeds = [canonical_from_analyzed(f"Project [rand({seed}) AS r#1]") for seed in (7, 8)]
    assert given_seeds[0].fingerprint != given_seeds[1].fingerprint


def test_a_text_and_a_plan_never_share_a_fingerprint() -> None:
    text = "SELECT 1 AS x"
    assert len({canonical(text).fingerprint, canonical_from_analyzed(text).fingerprint}) == 2
