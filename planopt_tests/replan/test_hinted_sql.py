"""A hint goes into the SELECT whose FROM names the input, and changes no other character of the text."""

from __future__ import annotations

import pytest

from planopt_assets.model.hint import Hint
from planopt_assets.replan.hinted_sql import hinted_sql

pytestmark = pytest.mark.fast


def hint(target: str, strategy: str = "broadcast") -> Hint:
    return Hint.parse(f"{strategy}({target})")


# text with `§` where the hint belongs, the hint's target
PLACED = {
    "explicit join": ("SELECT§ o.id FROM orders o JOIN shops s ON o.shop = s.shop", "join0.right s"),
    "a table without an alias": ("SELECT§ id FROM orders JOIN shops USING (shop)", "join0.right shops"),
    "letter case does not matter": ("select§ id from Orders join Shops using (shop)", "join0.right shops"),
    "before DISTINCT": ("SELECT§ DISTINCT id FROM a JOIN b USING (id)", "join0.left a"),
    "comma join": ("SELECT§ 1 FROM a, b, c WHERE a.x = b.x AND b.x = c.x", "join1.right b"),
    "a derived table": (
        "SELECT§ o.id FROM orders o JOIN (SELECT shop, count(*) n FROM sales GROUP BY shop) g ON o.shop = g.shop",
        "join0.right g",
    ),
    "inside a derived table": (
        "SELECT * FROM (SELECT§ a.x FROM a JOIN b ON a.x = b.x) d JOIN c ON d.x = c.x",
        "join1.right b",
    ),
    "the query of a CTE": (
        "WITH d AS (SELECT§ a.x FROM a JOIN b ON a.x = b.x) SELECT * FROM d JOIN c ON d.x = c.x",
        "join0.left a",
    ),
    "a reference to a CTE": (
        "WITH d AS (SELECT x FROM a) SELECT§ * FROM d JOIN c ON d.x = c.x",
        "join0.left d",
    ),
    "one branch of a UNION": (
        "SELECT a.x FROM a JOIN b USING (x) UNION ALL SELECT§ c.x FROM c JOIN d USING (x)",
        "join1.right d",
    ),
    "a branch in parentheses": (
        "(SELECT§ a.x FROM a JOIN b USING (x)) UNION (SELECT c.x FROM c JOIN d USING (x))",
        "join0.right b",
    ),
    "beside a sub-query with the same names": (
        "SELECT§ 1 FROM a JOIN b USING (x) WHERE a.x IN (SELECT x FROM a JOIN b USING (x))",
        "join0.right b",
    ),
    "joins in parentheses": ("SELECT§ 1 FROM (a JOIN b USING (x)) JOIN c USING (x)", "join1.right b"),
    "an alias over joins in parentheses": ("SELECT§ 1 FROM (a JOIN b USING (x)) z JOIN c USING (x)", "join0.left z"),
    "a sub-query in the SELECT list": (
        "SELECT§ (SELECT max(x) FROM c), a.x FROM a JOIN b USING (x)",
        "join0.right b",
    ),
    "FROM in expressions": (
        "SELECT§ extract(year FROM a.d) FROM a JOIN b ON a.x IS NOT DISTINCT FROM b.x JOIN c USING (x)",
        "join0.right c",
    ),
    "next to a lateral query": (
        "SELECT§ 1 FROM a, LATERAL (SELECT a.x + 1 AS y) l JOIN b ON l.y = b.x",
        "join0.right b",
    ),
    "the same alias in two SELECTs, by the join's number": (
        "WITH d AS (SELECT a.x FROM a JOIN b USING (x)) SELECT§ * FROM d JOIN b USING (x)",
        "join1.right b",
    ),
    "the same alias in two SELECTs, the other one": (
        "WITH d AS (SELECT§ a.x FROM a JOIN b USING (x)) SELECT * FROM d JOIN b USING (x)",
        "join0.right b",
    ),
    "the same alias in both branches of a UNION": (
        "SELECT 1 FROM a JOIN b USING (x) UNION ALL SELECT§ 2 FROM a JOIN b USING (x)",
        "join1.left a",
    ),
    "a self join": ("SELECT§ 1 FROM a l JOIN a r ON l.x = r.x", "join0.right r"),
    "comments and layout": (
        "-- SELECT nothing\nSELECT§ /* secret */ a.x\n  FROM a -- FROM b\n  JOIN b ON a.x = b.x;\n",
        "join0.right b",
    ),
    "parameters": ("SELECT§ 1 FROM a JOIN b ON a.x = b.x AND a.y > :low", "join0.right b"),
}


@pytest.mark.parametrize("name", PLACED)
def test_a_hint_goes_here(name: str) -> None:
    marked, target = PLACED[name]
    hinted = hinted_sql(marked.replace("§", ""), [hint(target)])
    assert hinted.left_out == ()
    assert hinted.sql == marked.replace("§", f" /*+ BROADCAST({target.split(' ')[1]}) */")


@pytest.mark.parametrize(
    ("strategy", "word"), [("broadcast", "BROADCAST"), ("shuffle_hash", "SHUFFLE_HASH"), ("merge", "MERGE")]
)
def test_every_strategy_has_the_name_spark_knows(strategy: str, word: str) -> None:
    text = hinted_sql("SELECT 1 FROM a JOIN b USING (x)", [hint("join0.right b", strategy)]).sql
    assert text == f"SELECT /*+ {word}(b) */ 1 FROM a JOIN b USING (x)"


def test_a_name_that_is_no_plain_word_is_quoted() -> None:
    text = hinted_sql("SELECT 1 FROM a JOIN `two-words` USING (x)", [hint("join0.right two-words")]).sql
    assert text == "SELECT /*+ BROADCAST(`two-words`) */ 1 FROM a JOIN `two-words` USING (x)"


def test_the_authors_hint_stays_and_comes_first() -> None:
    text = hinted_sql("SELECT /*+ MERGE(a) */ 1 FROM a JOIN b USING (x)", [hint("join0.right b")]).sql
    assert text == "SELECT /*+ MERGE(a), BROADCAST(b) */ 1 FROM a JOIN b USING (x)"


def test_two_hints_of_one_select_share_a_comment_and_two_selects_have_their_own() -> None:
    text = "WITH d AS (SELECT a.x FROM a JOIN b USING (x)) SELECT 1 FROM d JOIN c USING (x) JOIN e USING (x)"
    hints = [hint("join0.right b"), hint("join1.right e"), hint("join2.right c", "merge")]
    assert hinted_sql(text, hints).sql == (
        "WITH d AS (SELECT /*+ BROADCAST(b) */ a.x FROM a JOIN b USING (x)) "
        "SELECT /*+ BROADCAST(e), MERGE(c) */ 1 FROM d JOIN c USING (x) JOIN e USING (x)"
    )


NOT_PLACED = {
    "an input without a name": ("SELECT 1 FROM a, b, c", "join0.left", "join0.left has no name in the text"),
    "an unknown alias": ("SELECT 1 FROM a JOIN b", "join0.right z", "no join of the text reads `z`"),
    "a table that is not joined": (
        "SELECT 1 FROM a JOIN (SELECT x FROM c) b",
        "join0.right c",
        "no join of the text reads `c`",
    ),
    "a join in a sub-query": (
        "SELECT 1 FROM a WHERE x IN (SELECT x FROM b JOIN c USING (x))",
        "join0.right c",
        "no join of the text reads `c`",
    ),
    "hidden by the alias of joins in parentheses": (
        "SELECT 1 FROM (a JOIN b) z JOIN c",
        "join1.left a",
        "no join of the text reads `a`",
    ),
    "two inputs with one name": (
        "SELECT 1 FROM a JOIN a ON true",
        "join0.right a",
        "two inputs of one SELECT are called `a`",
    ),
    "a name in several joins, none of them this one": (
        "SELECT 1 FROM a JOIN b UNION ALL SELECT 2 FROM a JOIN b",
        "join5.right b",
        "`b` is in several joins, and join5.right is none of them",
    ),
    "a name in several joins whose order is not certain": (
        "SELECT 1 FROM a JOIN (WITH z AS (SELECT 1 FROM a JOIN b) SELECT 2 FROM z JOIN b) d",
        "join1.right b",
        "`b` is in several joins, and their order is not certain: a WITH is recursive or inside another query",
    ),
    "FROM before SELECT": (
        "FROM a JOIN b USING (x) SELECT 1",
        "join0.right b",
        "it is not certain which SELECT the hint belongs to",
    ),
    "FROM before SELECT, inside another query": (
        "SELECT * FROM (FROM a JOIN b USING (x) SELECT 1) d",
        "join0.right b",
        "it is not certain which SELECT the hint belongs to",
    ),
    "a pipe": (
        "SELECT 1 FROM a |> JOIN b USING (x)",
        "join0.right b",
        "it is not certain which SELECT the hint belongs to",
    ),
    "no query": ("DELETE FROM a", "join0.right b", "it does not begin like a query"),
    "two statements": ("SELECT 1 FROM a JOIN b; SELECT 2", "join0.right b", "it is more than one statement"),
    "no SQL": ("SELECT ((1 FROM", "join0.right b", "sqlglot fails on it: ParseError"),
}


@pytest.mark.parametrize("name", NOT_PLACED)
def test_where_the_place_is_not_certain_the_text_stays_and_says_why(name: str) -> None:
    text, target, why = NOT_PLACED[name]
    hinted = hinted_sql(text, [hint(target)])
    assert (hinted.sql, hinted.left_out) == (text, ((hint(target), why),))


def test_a_hint_without_a_place_does_not_stand_in_the_way_of_another() -> None:
    hinted = hinted_sql("SELECT 1 FROM a JOIN b USING (x)", [hint("join0.left z"), hint("join0.right b")])
    assert hinted.sql == "SELECT /*+ BROADCAST(b) */ 1 FROM a JOIN b USING (x)"
    assert [left for left, _ in hinted.left_out] == [hint("join0.left z")]


def test_without_hints_the_text_is_the_text() -> None:
    assert hinted_sql("SELECT 1  FROM a", []).sql == "SELECT 1  FROM a"
