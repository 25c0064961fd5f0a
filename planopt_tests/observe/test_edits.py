"""The edit list says what changed, short and in the words of the query."""

from __future__ import annotations

import pytest

from planopt_assets.observe.sql.edits import edit_list
from planopt_tests.observe.shop_tables import SHOP_SCHEMAS
from planopt_tests.observe.sql_files import queries_in

pytestmark = pytest.mark.fast

QUERY = (
    "WITH p AS (SELECT shop, sum(amount) AS total FROM sales s WHERE s.day > DATE'2024-01-01' "
    "AND amount BETWEEN 1 AND 5 GROUP BY shop) "
    "SELECT p.shop, total AS t, city FROM p JOIN shops h ON h.shop = p.shop AND h.region > 0 WHERE total > 10 "
    "AND CASE WHEN city = 'a' AND p.shop = 1 THEN true END "
    "AND EXISTS (SELECT 1 FROM regions r WHERE r.region = h.region) ORDER BY total LIMIT 5"
)
CHANGES = {
    ("total > 10", "total > 11"): ["predicate: total > 10 -> total > 11"],
    ("WHERE total > 10 AND", "WHERE"): ["predicate removed: total > 10"],
    ("BETWEEN 1 AND 5", "BETWEEN 1 AND 6"): ["predicate: amount BETWEEN 1 AND 5 -> amount BETWEEN 1 AND 6"],
    ("city = 'a' AND", "city = 'b' AND"): [
        "predicate: CASE WHEN shops.city = 'a' AND p.shop = 1 THEN TRUE END -> "
        "CASE WHEN shops.city = 'b' AND p.shop = 1 THEN TRUE END"
    ],
    ("EXISTS", "NOT EXISTS"): ["predicate: EXISTS (…) -> NOT EXISTS (…)"],
    ("r.region = h.region", "r.region > h.region"): [
        "predicate: regions.region = shops.region -> regions.region > shops.region"
    ],
    ("JOIN shops", "LEFT JOIN shops"): ["join: JOIN shops -> LEFT JOIN shops"],
    ("h.shop = p.shop AND", "h.shop = p.shop + 1 AND"): ["join: shops.shop = p.shop -> shops.shop = p.shop + 1"],
    (" AND h.region > 0", ""): ["join removed: region > 0"],
    ("FROM p JOIN", "FROM p CROSS JOIN regions JOIN"): [
        "join added: CROSS JOIN regions",
        "table: regions AS regions -> regions AS regions_2",
        "predicate: regions.region = shops.region -> regions_2.region = shops.region",
    ],
    ("p.shop, total AS t, city", "p.shop, city"): ["projection removed: total AS t"],
    ("p.shop, total AS t, city", "p.shop, city, total AS t"): ["projection moved: city"],
    ("total AS t,", "total AS u,"): ["projection: total AS t -> total AS u"],
    ("sum(amount)", "max(amount)"): ["projection: SUM(amount) AS total -> MAX(amount) AS total"],
    ("GROUP BY shop", "GROUP BY shop, day"): ["grouping added: day"],
    ("ORDER BY total", "ORDER BY total DESC"): ["order: total -> total DESC"],
    ("ORDER BY total ", ""): ["order removed: total"],
    ("LIMIT 5", "LIMIT 6"): ["limit: LIMIT 5 -> LIMIT 6"],
    ("SELECT p.shop", "SELECT /*+ BROADCAST(h) */ p.shop"): ["hint added: /*+ BROADCAST(`shops`) */"],
    ("FROM sales s", "FROM sales TABLESAMPLE (5 ROWS) s"): ["table: sales -> sales TABLESAMPLE (5 ROWS)"],
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_named(change: tuple[str, str]) -> None:
    old, new = change
    assert old in QUERY
    assert [str(edit) for edit in edit_list(QUERY, QUERY.replace(old, new, 1), SHOP_SCHEMAS)] == CHANGES[change]


def test_a_renamed_alias_beside_a_change_is_not_mentioned() -> None:
    renamed = QUERY.replace("total AS t", "worth AS t").replace("total", "worth").replace("p.", "q.")
    renamed = renamed.replace("WITH p", "WITH q").replace("FROM p", "FROM q")
    assert edit_list(QUERY, renamed, SHOP_SCHEMAS) == ()
    edits = edit_list(QUERY, renamed.replace("worth > 10", "worth > 12"), SHOP_SCHEMAS)
    assert [str(edit) for edit in edits] == ["predicate: total > 10 -> total > 12"]


def test_the_same_table_twice_is_told_apart() -> None:
    text = "SELECT a.id FROM sales a JOIN sales b ON a.id = b.id WHERE a.shop = 1"
    (edit,) = edit_list(text, text.replace("a.shop", "b.shop"), SHOP_SCHEMAS)
    assert str(edit) == "predicate: sales.shop = 1 -> sales_2.shop = 1"


def test_parts_of_an_edit() -> None:
    (edit,) = edit_list(QUERY, QUERY.replace("LIMIT 5", "LIMIT 6"), SHOP_SCHEMAS)
    assert (edit.kind, edit.part, edit.before, edit.after) == ("changed", "limit", "LIMIT 5", "LIMIT 6")


def test_texts_that_cannot_be_parsed_are_compared_as_they_are() -> None:
    old, new = "SELECT id FROM nowhere WHERE a = 1", "SELECT id FROM nowhere WHERE a = 2"
    assert [str(edit) for edit in edit_list(old, new, SHOP_SCHEMAS)] == ["predicate: a = 1 -> a = 2"]
    assert [str(edit) for edit in edit_list("SHOW TABLES", "SELECT (1", SHOP_SCHEMAS)] == [
        "text: SHOW TABLES -> SELECT (1"
    ]


def test_any_two_queries_can_be_compared() -> None:
    texts = list(queries_in("canonical.sql").values())
    for old, new in zip(texts, reversed(texts), strict=True):
        assert all(str(edit) for edit in edit_list(old, new, SHOP_SCHEMAS))
