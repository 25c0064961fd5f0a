"""The rewrite `aggregate_before_join`: what it writes, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from planopt_assets.replan.early_aggregation import early_aggregation
from planopt_assets.replan.rewrites.aggregate_before_join import rewrite

pytestmark = pytest.mark.fast

COLUMNS: Mapping[str, Mapping[str, str]] = {
    "customer": {"c_custkey": "bigint", "c_segment": "string", "c_balance": "decimal(15,2)", "shared": "int"},
    "orders": {
        "o_custkey": "bigint", "o_orderkey": "bigint", "o_comment": "string", "o_total": "decimal(15,2)",
        "o_count": "int", "o_date": "date", "o_price": "double", "o_long": "decimal(30,2)", "o_code": "char(3)",
        "o_label": "string collate UTF8_LCASE", "o_textkey": "string", "o_floatkey": "float", "o_tags": "array<int>",
        "o_day": "date", "shared": "int",
    },
    "`big orders`": {"k": "int", "x": "int"},
    "db.orders": {"o_custkey": "bigint", "o_orderkey": "bigint"},
}  # fmt: skip


def columns_of(name: str) -> Mapping[str, str] | None:
    return COLUMNS.get(name.lower())


def rewritten(sql: str) -> str | None:
    return rewrite(sql, columns_of)


def a(number: int) -> str:
    return f"planopt_aggregate_{number}"


LEFT = "customer LEFT JOIN orders ON c_custkey = o_custkey"
INNER = "customer JOIN orders ON c_custkey = o_custkey"


def counted(join: str = LEFT, *, aggregate: str = "count(o_orderkey) AS n", end: str = "GROUP BY c_custkey") -> str:
    return f"SELECT c_custkey, {aggregate} FROM {join} {end}".strip()


# Written


def test_the_thirteenth_query_of_tpch_keeps_its_layout_comments_hints_and_parameters() -> None:
    sql = """-- how many customers have how many orders
SELECT c_count, count(*) AS custdist -- customers
FROM (
    SELECT /*+ MERGE(orders) */ c_custkey, count(o_orderkey)
    FROM customer LEFT OUTER JOIN orders /* all */ ON c_custkey = o_custkey
        AND o_comment NOT LIKE '%special%requests%' -- no complaints
    WHERE c_segment <> :segment
    GROUP BY c_custkey) AS c_orders (c_custkey, c_count)
GROUP BY c_count
ORDER BY custdist DESC, c_count DESC;
"""
    expected = """-- how many customers have how many orders
SELECT c_count, count(*) AS custdist -- customers
FROM (
    SELECT /*+ MERGE(orders) */ c_custkey, coalesce(sum(planopt_aggregate_0), 0)
    FROM customer LEFT OUTER JOIN (SELECT o_custkey, count(o_orderkey) AS planopt_aggregate_0 FROM orders \
WHERE (o_comment NOT LIKE '%special%requests%') GROUP BY o_custkey) AS orders /* all */ ON c_custkey = o_custkey
        AND true -- no complaints
    WHERE c_segment <> :segment
    GROUP BY c_custkey) AS c_orders (c_custkey, c_count)
GROUP BY c_count
ORDER BY custdist DESC, c_count DESC;
"""
    assert rewritten(sql) == expected


@pytest.mark.parametrize(
    ("aggregate", "inside", "outside"),
    [
        ("count(o_price)", "count(o_price)", f"coalesce(sum({a(0)}), 0)"),
        ("COUNT(*)", "COUNT(*)", f"coalesce(sum(coalesce({a(0)}, 1)), 0)"),
        ("count(1)", "count(1)", f"coalesce(sum(coalesce({a(0)}, 1)), 0)"),
        ("min(o_date)", "min(o_date)", f"min({a(0)})"),
        ("Max(orders.o_total)", "Max(orders.o_total)", f"max({a(0)})"),
        ("sum(o_total)", "sum(o_total)", f"cast(sum({a(0)}) AS decimal(25,2))"),
        ("sum(o_count)", "sum(o_count)", f"cast(sum({a(0)}) AS bigint)"),
        ("max(o_custkey)", "max(o_custkey)", f"max({a(0)})"),
    ],
)
def test_each_aggregate_is_made_of_those_of_the_groups(aggregate: str, inside: str, outside: str) -> None:
    assert rewritten(counted(aggregate=f"{aggregate} AS n")) == counted(
        f"customer LEFT JOIN (SELECT o_custkey, {inside} AS {a(0)} FROM orders GROUP BY o_custkey) AS orders "
        "ON c_custkey = o_custkey",
        aggregate=f"{outside} AS n",
    )


def test_an_aggregate_that_is_written_twice_is_computed_once() -> None:
    changed = rewritten(
        counted(aggregate="count(o_orderkey) + max(o_count) AS n", end="GROUP BY 1 HAVING count(o_orderkey) > 1")
    )
    assert changed is not None
    assert changed.count(f"coalesce(sum({a(0)}), 0)") == 2
    assert f"SELECT o_custkey, count(o_orderkey) AS {a(0)}, max(o_count) AS {a(1)} FROM orders" in changed


@pytest.mark.parametrize(
    ("sql", "grouped"),
    [
        ("SELECT c_segment, sum(o_total) t FROM orders o JOIN customer ON o.o_custkey = c_custkey GROUP BY c_segment",
         f"FROM (SELECT o.o_custkey, sum(o_total) AS {a(0)} FROM orders o GROUP BY o.o_custkey) AS o JOIN customer "),
        ("SELECT c.c_segment, count(*) AS n FROM customer AS c, orders WHERE o_custkey = c.c_custkey AND o_count = 1 "
         "GROUP BY c.c_segment", f"AS {a(0)} FROM orders WHERE (o_count = 1) GROUP BY o_custkey) AS orders WHERE "),
        ("SELECT max(x) AS m FROM customer LEFT JOIN `big orders` ON `big orders`.k = shared",
         f"LEFT JOIN (SELECT `big orders`.k, max(x) AS {a(0)} FROM `big orders` GROUP BY `big orders`.k) AS "
         "`big orders` ON"),
        ("SELECT count(o_orderkey) AS n FROM customer JOIN db.orders ON o_custkey = c_custkey",
         f"(SELECT o_custkey, count(o_orderkey) AS {a(0)} FROM db.orders GROUP BY o_custkey) AS orders ON"),
        ("SELECT count(o_orderkey) AS n FROM customer c JOIN orders o ON o_custkey = c_custkey AND c.shared = o.shared",
         f"(SELECT o_custkey, o.shared, count(o_orderkey) AS {a(0)} FROM orders o GROUP BY o_custkey, o.shared) AS o"),
        ("SELECT o_custkey AS k, c_balance * 2 AS b, count(o_orderkey) AS n FROM customer JOIN orders "
         "ON c_custkey = o_custkey GROUP BY k, b ORDER BY n DESC, k LIMIT 3", "GROUP BY o_custkey) AS orders "),
    ],
)  # fmt: skip
def test_the_side_is_grouped_under_its_own_name(sql: str, grouped: str) -> None:
    changed = rewritten(sql)
    assert changed is not None
    assert grouped in changed


def test_conditions_on_the_side_alone_go_with_it_and_others_stay() -> None:
    changed = rewritten(
        f"SELECT c_custkey, count(*) AS n FROM {LEFT} AND (o_count IN (1, -2) OR o_total >= 3.5) AND c_balance / 2 > 1 "
        "AND o_date BETWEEN '2024-01-01' AND DATE '2024-12-31' AND NOT o_comment IS NULL AND o_custkey > 5 AND "
        "o_day = o_date GROUP BY c_custkey"
    )
    assert changed is not None
    assert (
        " WHERE ((o_count IN (1, -2) OR o_total >= 3.5)) AND (o_date BETWEEN '2024-01-01' AND DATE '2024-12-31') "
        "AND (NOT o_comment IS NULL) AND (o_day = o_date) GROUP BY o_custkey) AS orders "
        "ON c_custkey = o_custkey AND true AND c_balance / 2 > 1 AND true AND true AND o_custkey > 5 AND true GROUP BY"
    ) in changed


def test_a_rewritten_text_is_not_rewritten_again() -> None:
    changed = rewritten(counted())
    assert changed is not None
    assert rewritten(changed) is None


def test_an_alias_may_be_the_name_of_the_aggregated_column_in_the_select_list_only() -> None:
    """There Spark looks for columns first. In HAVING and ORDER BY the alias could be meant."""
    own_name = counted(aggregate="sum(o_total) AS o_total")
    assert f"cast(sum({a(0)}) AS decimal(25,2)) AS o_total FROM" in str(rewritten(own_name))
    assert rewritten(f"{own_name} ORDER BY c_custkey") is not None
    for end in ("HAVING sum(o_total) > 1", "ORDER BY sum(o_total)", "ORDER BY o_total", "HAVING o_total > 1"):
        assert rewritten(f"{own_name} {end}") is None


# Refused: other aggregates


@pytest.mark.parametrize(
    "aggregate",
    [
        "avg(o_total)", "count(DISTINCT o_orderkey)", "count(o_orderkey, o_count)", "sum(o_total * 2)", "sum(-o_count)",
        "count(o_orderkey) FILTER (WHERE o_count > 1)", "sum(o_count) OVER (PARTITION BY c_custkey)",
        "count_if(o_count > 1)", "first(o_date)", "collect_list(o_count)", "stddev(o_count)", "sum(DISTINCT o_count)",
        "max_by(o_date, o_total)", "approx_count_distinct(o_orderkey)", "my_udf(o_count)", "any_value(o_count)",
        "sum(1)", "count(2)", "count('x')", "sum(:p)", "max(o_date) IGNORE NULLS", "`count`(o_orderkey)",
        "count(ALL o_orderkey)", "grouping(c_custkey)", "min(CAST(o_count AS STRING))",
    ],
)  # fmt: skip
def test_any_other_aggregate_is_refused(aggregate: str) -> None:
    assert rewritten(counted(aggregate=f"{aggregate} AS n")) is None
    assert rewritten(counted(aggregate=f"count(o_orderkey) AS m, {aggregate} AS n")) is None


@pytest.mark.parametrize(
    ("aggregate", "why"),
    [
        ("sum(o_orderkey)", "a BIGINT can overflow"),
        ("sum(o_price)", "the order of doubles matters"),
        ("sum(o_long)", "40 digits are too many"),
        ("sum(o_comment)", "a text is cast"),
        ("min(o_price)", "0.0 and -0.0 are equal"),
        ("max(o_label)", "a and A are equal"),
        ("max(o_code)", "a CHAR is padded"),
        ("max(o_tags)", "an array of anything"),
        ("count(c_balance)", "of the other side, which loses its duplicates"),
        ("sum(c_balance)", "the same"),
        ("max(c_balance)", "of the other side"),
        ("count(unknown)", "in no table"),
        ("count(shared)", "in both"),
        ("count(o_tags.x)", "a field of a struct"),
    ],
)
def test_a_type_or_a_column_that_could_change_a_result_is_refused(aggregate: str, why: str) -> None:
    assert rewritten(counted(aggregate=f"{aggregate} AS n")) is None, why


def test_any_column_may_be_counted() -> None:
    for column in ("o_price", "o_label", "o_code", "o_tags", "o_long"):
        assert rewritten(counted(aggregate=f"count({column}) AS n")) is not None


# Refused: joins


@pytest.mark.parametrize(
    "join",
    [
        "customer RIGHT JOIN orders ON c_custkey = o_custkey",
        "customer FULL OUTER JOIN orders ON c_custkey = o_custkey",
        "customer CROSS JOIN orders",
        "customer LEFT SEMI JOIN orders ON c_custkey = o_custkey",
        "customer LEFT ANTI JOIN orders ON c_custkey = o_custkey",
        "orders LEFT JOIN customer ON c_custkey = o_custkey",  # the aggregated side keeps rows without a match
        "customer NATURAL JOIN orders",
        "customer LEFT JOIN orders USING (shared)",
        "customer JOIN orders",
        "customer, orders",
        "customer LEFT JOIN LATERAL (SELECT * FROM orders WHERE c_custkey = o_custkey)",
        "customer LEFT JOIN (SELECT * FROM orders) AS orders ON c_custkey = o_custkey",
        "customer LEFT JOIN orders TABLESAMPLE (10 ROWS) ON c_custkey = o_custkey",
        "customer LEFT JOIN orders VERSION AS OF 3 ON c_custkey = o_custkey",
        "customer LEFT JOIN orders AS o (o_custkey, o_orderkey) ON c_custkey = o_custkey",
        "customer LEFT JOIN orders ON c_custkey = o_custkey LATERAL VIEW explode(o_tags) t AS tag",
        "customer LEFT JOIN orders ON c_custkey = o_custkey LEFT JOIN db.orders AS x ON x.o_custkey = c_custkey",
        "customer LEFT JOIN nobody ON c_custkey = o_custkey",
        "orders JOIN orders AS customer ON orders.o_custkey = customer.o_custkey",
        "customer o_custkey LEFT JOIN orders ON c_custkey = o_custkey",  # an alias like a column
        # conditions
        "customer LEFT JOIN orders ON c_custkey <=> o_custkey",
        "customer LEFT JOIN orders ON c_custkey < o_custkey",
        "customer LEFT JOIN orders ON c_custkey = o_custkey + 1",
        "customer LEFT JOIN orders ON abs(c_custkey) = o_custkey",
        "customer LEFT JOIN orders ON c_custkey = o_custkey OR c_balance > 1",
        "customer LEFT JOIN orders ON (c_custkey = o_custkey)",
        "customer LEFT JOIN orders ON c_custkey = o_textkey",
        "customer LEFT JOIN orders ON c_custkey = o_floatkey",
        "customer LEFT JOIN orders ON c_custkey = o_custkey AND c_balance < o_total",
        "customer LEFT JOIN orders ON c_custkey = o_custkey AND (o_count > 1 OR c_balance > 2)",
    ],
)
def test_any_other_join_is_refused(join: str) -> None:
    assert rewritten(counted(join)) is None


@pytest.mark.parametrize(
    "condition",
    [
        "o_count / 2 > 1", "o_count + 1 > 1", "o_textkey = 5", "o_textkey > 5", "o_date < 'soon'",
        "o_date < '2024-02-30'", "o_date < '2024-W01-1'", "o_comment = '${pattern}'",
        "o_date < DATE 'soon'", "o_date = 5", "o_total > :least", "o_comment LIKE :pattern",
        "o_comment LIKE '50\\\\%'", "o_comment LIKE '5%' ESCAPE '/'", "o_comment RLIKE 'x('",
        "o_comment LIKE o_textkey",
        "length(o_comment) > 3", "rand() < 0.5", "CAST(o_comment AS INT) = 1", "o_tags[0] = 1", "o_count IN ('x')",
        "o_count IN (SELECT 1)", "EXISTS (SELECT 1)", "o_price > 1", "o_long > 1", "o_code = 'x'", "o_label = 'x'",
        "o_count > 99999999999", "o_count > 1e3", "o_textkey = o_count", "current_date > o_date", "o_count = '1'",
        "CASE WHEN o_count = 1 THEN true ELSE false END", "o_comment = \"x\"", "unknown = 1", "o_count -- why\n = 1",
        "o_count /* why */ = 1", "o_comment = 'a--b'",
    ],
)  # fmt: skip
def test_a_condition_that_could_fail_on_a_row_without_a_match_is_refused(condition: str) -> None:
    assert rewritten(counted(f"{LEFT} AND {condition}")) is None
    assert rewritten(counted(f"{INNER} AND {condition}")) is None
    assert rewritten(counted(INNER, end=f"WHERE {condition} GROUP BY c_custkey")) is None


def test_where_on_the_side_that_may_have_no_match_is_refused() -> None:
    """It drops rows without a match after the join. Moved before the join, it would keep them."""
    for condition in ("o_count = 1", "o_count IS NULL", "o_comment NOT LIKE 'x'"):
        assert rewritten(counted(end=f"WHERE {condition} GROUP BY c_custkey")) is None
        assert rewritten(counted(INNER, end=f"WHERE {condition} GROUP BY c_custkey")) is not None


def test_an_equality_in_the_where_of_a_left_join_makes_no_key() -> None:
    join = "customer c LEFT JOIN orders o ON c_custkey = o_custkey"
    assert rewritten(counted(join, end="WHERE c.shared = o.shared GROUP BY c_custkey")) is None


# Refused: other uses of the side, other clauses


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT c_custkey, o_count, count(o_orderkey) AS n FROM {LEFT} GROUP BY c_custkey, o_count",
        f"SELECT c_custkey, count(o_orderkey) AS n FROM {LEFT} GROUP BY c_custkey, o_date",
        f"SELECT c_custkey, count(o_orderkey) AS n FROM {LEFT} GROUP BY c_custkey HAVING o_count > 1",
        f"SELECT c_custkey, count(o_orderkey) AS n FROM {LEFT} GROUP BY c_custkey ORDER BY o_date",
        f"SELECT c_custkey, count(o_orderkey) AS o_date FROM {LEFT} GROUP BY c_custkey ORDER BY o_date",
        f"SELECT c_custkey, min(o_date) AS o_date FROM {LEFT} GROUP BY c_custkey HAVING min(o_date) > '2024-01-01'",
        f"SELECT c_custkey, count(o_orderkey) AS n, * FROM {LEFT} GROUP BY c_custkey",
        f"SELECT customer.*, count(o_orderkey) AS n FROM {LEFT} GROUP BY c_custkey",
        f"SELECT DISTINCT c_custkey, count(o_orderkey) AS n FROM {LEFT} GROUP BY c_custkey",
        f"SELECT c_custkey, count(o_orderkey) AS n FROM {LEFT} GROUP BY ROLLUP (c_custkey)",
        f"SELECT c_custkey, count(o_orderkey) AS n FROM {LEFT} GROUP BY CUBE (c_custkey, c_segment)",
        f"SELECT c_custkey, count(o_orderkey) AS n FROM {LEFT} GROUP BY c_custkey WITH ROLLUP",
        f"SELECT c_custkey, count(o_orderkey) AS n FROM {LEFT} GROUP BY GROUPING SETS ((c_custkey), ())",
        f"SELECT c_custkey, count(o_orderkey) AS n FROM {LEFT} GROUP BY ALL",
        f"SELECT rand() AS r, count(o_orderkey) AS n FROM {LEFT} GROUP BY r",
        f"SELECT uuid(), count(o_orderkey) AS n FROM {LEFT} GROUP BY c_custkey",
        f"SELECT upper(c_segment) AS s, count(o_orderkey) AS n FROM {LEFT} GROUP BY s",
        f"SELECT (SELECT max(k) FROM `big orders`) AS m, count(o_orderkey) AS n FROM {LEFT}",
        f"SELECT c_segment, count(o_orderkey) AS n FROM {LEFT} WHERE c_custkey IN (SELECT k FROM `big orders`)",
        f"SELECT c_custkey, count(o_orderkey) AS n FROM {LEFT} GROUP BY c_custkey SORT BY n",
        f"SELECT c_custkey, count(o_orderkey) AS n FROM {LEFT} GROUP BY c_custkey QUALIFY n > 1",
        f"SELECT c_custkey, count(o_orderkey) AS n FROM {LEFT} GROUP BY c_custkey LIMIT :n",
        f"SELECT c_custkey, count(o_orderkey) AS n FROM {LEFT} WHERE outer_name = 1 GROUP BY c_custkey",
        f"SELECT c_custkey, count(db.orders.o_orderkey) AS n FROM {LEFT} GROUP BY c_custkey",
        f"SELECT c_custkey, count(o.o_orderkey) AS n FROM {LEFT} GROUP BY c_custkey",
        f"SELECT c_custkey FROM {LEFT} GROUP BY c_custkey",
        f"SELECT c_custkey, count(o_orderkey) FROM {LEFT} GROUP BY c_custkey",  # Spark names it by its text
        f"SELECT k, n FROM (SELECT c_custkey, count(o_orderkey) FROM {LEFT} GROUP BY c_custkey) AS g (k)",
        f"SELECT 1 FROM customer WHERE 3 IN (SELECT count(o_orderkey) FROM {LEFT})",
        f"WITH orders AS (SELECT 1) SELECT c_custkey, count(o_orderkey) AS n FROM {LEFT} GROUP BY c_custkey",
        f"FROM {LEFT} SELECT c_custkey, count(o_orderkey) AS n GROUP BY c_custkey",
        f"SELECT c_custkey, count(o_orderkey) AS planopt_aggregate_0 FROM {LEFT} GROUP BY c_custkey",
        f"SELECT c_custkey, count(o_orderkey) AS n FROM {LEFT} GROUP BY c_custkey; SELECT 1",
        f"SELECT c_custkey, count(o_orderkey) AS n FROM {LEFT} GROUP BY c_custkey |> LIMIT 3",
        f"SELECT c_custkey, count(o_orderkey) AS n FROM {LEFT} WHERE c_segment = ? GROUP BY c_custkey",
        f"SELECT c_custkey, count(o_orderkey AS n FROM {LEFT} GROUP BY c_custkey",
        "SELECT c_custkey, count(o_orderkey) AS n FROM customer LEFT JOIN orders -- all\nAS orders ON c_custkey = "
        "o_custkey GROUP BY c_custkey",
        f"SELECT '\\\\' AS c, count(o_orderkey) AS n FROM {LEFT}",
        "SELECT 'no end",
        "",
    ],
)
def test_what_is_not_understood_is_left_alone(sql: str) -> None:
    assert rewritten(sql) is None


def test_a_hint_that_would_not_find_its_table_any_more_is_left_alone() -> None:
    join = "customer LEFT JOIN db.orders{} ON c_custkey = o_custkey GROUP BY c_custkey"
    hinted = "SELECT /*+ BROADCAST({}) */ c_custkey, count(o_orderkey) AS n FROM " + join
    assert rewritten(hinted.format("db.orders", "")) is None
    assert rewritten(hinted.format("o", " AS o")) is not None
    assert rewritten(f"SELECT c_custkey, count(o_orderkey) AS n FROM {join.format('')}") is not None


def test_of_two_such_selects_none_is_chosen() -> None:
    assert rewritten(f"{counted()} UNION ALL {counted()}") is None
    assert rewritten(f"WITH x AS ({counted()}) {counted()}") is None


def test_where_either_side_could_be_grouped_none_is_chosen() -> None:
    assert rewritten(counted(INNER, aggregate="count(*) AS n")) is None
    assert rewritten(counted(LEFT, aggregate="count(*) AS n")) is not None
    by_segment = f"SELECT c_segment, count(*) AS n FROM {INNER} GROUP BY c_segment"
    assert rewritten(by_segment) is not None


def test_without_the_columns_of_the_tables_nothing_is_done() -> None:
    assert rewrite(counted()) is None
    assert early_aggregation(counted(), lambda name: COLUMNS["orders"] if name == "orders" else None) is None


def test_a_table_with_a_column_like_the_new_ones_is_left_alone() -> None:
    columns = {"c": {"k": "int", "planopt_aggregate_7": "int"}, "o": {"k": "int", "x": "int"}}
    assert rewrite("SELECT c.k, count(x) AS n FROM c JOIN o ON c.k = o.k GROUP BY c.k", columns.get) is None
