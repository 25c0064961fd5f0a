"""The rewrite `cnf`: what it adds, what it leaves alone, and that no row is lost or gained by it."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.observe.sql.tokens import NotCanonical
from planopt_assets.replan.rewrites.cnf import rewrite
from planopt_assets.replan.where_clauses import where_clauses

pytestmark = pytest.mark.fast


def rewritten(where: str) -> str | None:
    text = rewrite(f"SELECT * FROM t WHERE {where}")
    return text.removeprefix("SELECT * FROM t WHERE ") if text else None


# Added


@pytest.mark.parametrize(
    ("where", "companion"),
    [
        ("(a = 1 AND f(x) > 2) OR (a = 3 AND g(y) > 2)", "a = 1 OR a = 3"),
        ("a = 1 AND f(x) > 2 OR a = 3 AND g(y) > 2", "a = 1 OR a = 3"),
        ("(a IN (1, 2) AND f(x)) OR (a BETWEEN 5 AND 9 AND f(y))", "a IN (1, 2) OR a BETWEEN 5 AND 9"),
        ("(t.a = 'x' AND f(x)) OR (`b c` <= -5 AND f(y))", "t.a = 'x' OR `b c` <= -5"),
        ("(a = DATE '2024-01-01' AND f(x)) OR (a = :day AND f(y))", "a = DATE '2024-01-01' OR a = :day"),
        ("(5 < a AND f(x)) OR (a IS NULL AND f(y)) OR (a IS NOT NULL AND f(z))", "5 < a OR a IS NULL OR a IS NOT NULL"),
        ("(a = 1 AND CASE WHEN b AND c THEN d END) OR (a = 2 AND x[b OR c] = 1)", "a = 1 OR a = 2"),
        ("(a = 1 AND EXISTS (SELECT 1 FROM u WHERE p OR q)) OR (a = 2 AND f(x))", "a = 1 OR a = 2"),
        ("a = 1 AND f(x) OR a = 1 AND g(x)", "a = 1"),
    ],
)
def test_a_clause_of_plain_comparisons_is_added(where: str, companion: str) -> None:
    assert rewritten(where) == f"({where}) AND ({companion})"


def test_behind_an_and_no_parentheses_are_needed() -> None:
    where = "c > 0 AND ((a = 1 AND f(x)) OR (a = 2 AND f(y)))"
    assert rewritten(where) == f"{where} AND (a = 1 OR a = 2)"


def test_clauses_on_one_column_come_first_and_there_are_three_at_most() -> None:
    added = rewritten("(b = 1 AND a = 1 AND f(x)) OR (c = 2 AND a = 2 AND f(y))")
    assert added is not None
    assert added.split(") AND (")[-3:] == ["a = 1 OR a = 2", "b = 1 OR c = 2", "b = 1 OR a = 2)"]


def test_every_where_of_the_text_gets_its_own_and_layout_and_comments_stay() -> None:
    sql = """-- daily
SELECT x FROM (SELECT * FROM t -- all
  WHERE (a = 1 AND f(x)) OR /* or */ (a = 2 AND g(x)) -- end
) AS s
WHERE (b = 1 AND f(x)) OR (b = 2 AND g(x))
ORDER BY x"""
    assert (
        rewrite(sql)
        == """-- daily
SELECT x FROM (SELECT * FROM t -- all
  WHERE ((a = 1 AND f(x)) OR /* or */ (a = 2 AND g(x))) AND (a = 1 OR a = 2) -- end
) AS s
WHERE ((b = 1 AND f(x)) OR (b = 2 AND g(x))) AND (b = 1 OR b = 2)
ORDER BY x"""
    )


@pytest.mark.parametrize(
    "tail", ["GROUP BY a", "HAVING f(x)", "ORDER BY a", "LIMIT 5", "UNION SELECT 1", "SORT BY a", ";"]
)
def test_a_predicate_ends_where_the_next_clause_begins(tail: str) -> None:
    where = "(a = 1 AND f(x)) OR (a = 2 AND f(y))"
    assert rewritten(f"{where} {tail}") == f"({where}) AND (a = 1 OR a = 2) {tail}"


# Left alone


@pytest.mark.parametrize(
    "where",
    [
        "a = 1",
        "a = 1 AND f(x)",
        "a = 1 OR b = 2",  # Spark pushes it as it is
        "(a = 1 AND b = 2) OR (c = 3 AND d = 4)",
        "a = 1 OR f(x)",  # nothing plain follows from the second side
        "(a = 1 AND f(x)) OR g(y)",
        "NOT (a = 1 AND f(x)) OR (a = 2 AND g(x))",
        "(a <> 1 AND f(x)) OR (a NOT IN (2) AND g(x))",
        "(a = b AND f(x)) OR (a = c AND g(x))",
        "(a + 1 = 2 AND f(x)) OR (a / b = 3 AND g(x))",  # could fail by themselves
        "(CAST(a AS INT) = 2 AND f(x)) OR (lower(a) = 'x' AND g(x))",
        "(a = (SELECT 1) AND f(x)) OR (a = 2 AND g(x))",
        "((a = 1 AND f(x)) OR (a = 2 AND g(x))) AND (a = 1 OR a = 2)",  # the author did it
        " OR ".join(f"(a{i} = 1 AND b{i} = 2 AND f(x))" for i in range(8)),  # 2 to the power of 8 clauses
    ],
)
def test_other_predicates_stay_as_they_are(where: str) -> None:
    assert rewritten(where) is None


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "SELECT 1",
        "not sql at all (",
        "SELECT 'unfinished FROM t WHERE (a = 1 AND f(x)) OR (a = 2 AND g(x))",
        "SELECT sum(x) FILTER (WHERE (a = 1 AND f(x)) OR (a = 2 AND g(x))) FROM t",
        "SELECT 1 FROM t JOIN u ON (a = 1 AND f(x)) OR (a = 2 AND g(x))",
        "SELECT 1 FROM t WHERE (a = 1 AND f(x)) OR (a = 2 AND g(x)); SELECT 2",
        "SELECT 1 FROM t WHERE (a = 1 AND ) OR (a = 2 AND g(x))",
    ],
)
def test_what_is_no_where_or_no_query_is_left_alone(sql: str) -> None:
    assert rewrite(sql) is None


def test_rewritten_once_it_stays() -> None:
    once = rewrite("SELECT * FROM t WHERE (a = 1 AND f(x)) OR (a = 2 AND g(x))")
    assert once is not None
    assert rewrite(once) is None


# Same rows

_PLAIN = st.sampled_from(["a = 1", "a < 2", "b IN (0, 2)", "b BETWEEN 1 AND 2", "a IS NULL", "c >= 1", "b IS NOT NULL"])
_OTHER = st.sampled_from(["abs(a) = 1", "coalesce(b, 0) > 0", "a + c > 2", "a = b", "NOT (b = 1)", "a <> 1"])
_LEG = st.lists(st.one_of(_PLAIN, _OTHER), min_size=1, max_size=3).map(lambda parts: f"({' AND '.join(parts)})")
_PREDICATE = st.lists(_LEG, min_size=2, max_size=3).map(" OR ".join)


@settings(deadline=None, max_examples=300)
@given(_PREDICATE)
def test_the_same_rows_come_out_also_where_values_are_missing(predicate: str) -> None:
    """SQLite reads the same logic of three values."""
    before = f"SELECT rowid FROM t WHERE {predicate}"
    after = rewrite(before)
    if after is not None:
        assert _rows(after) == _rows(before)


def _rows(sql: str) -> list[tuple[int, ...]]:
    values = (None, 0, 1, 2)
    with sqlite3.connect(":memory:") as store:
        store.execute("CREATE TABLE t (a, b, c)")
        store.executemany("INSERT INTO t VALUES (?, ?, ?)", [(a, b, c) for a in values for b in values for c in values])
        return store.execute(sql).fetchall()


# Reading WHERE


def test_a_text_spark_reads_in_another_way_is_refused() -> None:
    with pytest.raises(NotCanonical):
        where_clauses("SELECT 1 FROM t /* a */ /*+ x */ WHERE a AND b")


def test_the_structure_of_a_predicate_is_read_as_sql_means_it() -> None:
    [where] = where_clauses("SELECT 1 FROM t WHERE a = 1 OR b BETWEEN 1 AND 2 AND (c OR (d OR e)) AND NOT f")
    assert where.condition.shape == ("or", ["leaf", ("and", ["leaf", ("or", ["leaf", "leaf", "leaf"]), "leaf"])])
