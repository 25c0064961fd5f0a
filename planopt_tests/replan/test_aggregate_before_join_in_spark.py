"""The rewrite `aggregate_before_join` in Spark: the same rows and the same schema, with nulls, duplicates, no rows."""

from __future__ import annotations

import random
from datetime import date, timedelta
from decimal import Decimal
from itertools import product
from typing import Any

import pytest

from planopt_assets.engine.frames.hints import JoinHints
from planopt_assets.engine.frames.policy_text import check_columns, policy_text, table_columns
from planopt_assets.engine.jvm.bridge import jvm_of
from planopt_assets.errors import PolicyNotApplied
from planopt_assets.model.policy import Policy
from planopt_assets.replan.rewrites.aggregate_before_join import rewrite

pytestmark = pytest.mark.spark

OTHER = "k INT, seg STRING, w INT NOT NULL"
GROUPED = "k INT, k2 BIGINT, x INT, d DECIMAL(15,2), s STRING, day DATE, f DOUBLE, b BIGINT NOT NULL, t TINYINT"
SIZES = {"rows": (40, 200), "no_c": (0, 50), "no_o": (30, 0), "none": (0, 0), "one": (1, 1)}
BY_SIZE = ("by the key", "by the other side", "one group")  # texts that are tried with all of them

ALL = (
    "count(o.x) AS c1, count(*) AS c2, count(1) AS c3, min(o.day) AS lo, max(o.s) AS hi, sum(o.d) AS sd, "
    "sum(o.x) AS sx, sum(t) AS st, count(f) AS cf, max(b) AS hb"
)
LEFT, INNER = "c LEFT JOIN o ON c.k = o.k", "c JOIN o ON c.k = o.k"
TEXTS = {
    "by the key": f"SELECT c.k, {ALL} FROM {{join}} GROUP BY c.k",
    "by the other side": f"SELECT seg, {ALL} FROM {{join}} GROUP BY seg",
    "by the key of the grouped side": f"SELECT o.k, seg, {ALL} FROM {{join}} GROUP BY o.k, seg",
    "one group": f"SELECT {ALL} FROM {{join}}",
    "conditions in ON": f"SELECT seg, {ALL} FROM {{join}} AND o.x > 3 AND s NOT LIKE '%b%' AND w > 2 GROUP BY seg",
    "WHERE on the other side": f"SELECT c.k AS key, {ALL} FROM {{join}} WHERE w <> 3 GROUP BY c.k",
    "WHERE on the key": f"SELECT seg, {ALL} FROM {{join}} WHERE o.k IS NULL OR o.k > 2 GROUP BY seg",
    "expressions and HAVING": (
        "SELECT seg, sum(o.x) + count(*) * 2 AS n, CASE WHEN count(o.x) = 0 THEN 'none' ELSE max(o.s) END AS m "
        "FROM {join} GROUP BY seg HAVING count(*) > 1 AND max(o.day) IS NOT NULL ORDER BY n DESC, seg LIMIT 5"
    ),
    "under their own names": "SELECT seg, sum(d) AS d, max(s) AS s, count(o.x) AS x FROM {join} GROUP BY seg",
    "ORDER BY": "SELECT c.k, count(*) AS n FROM {join} GROUP BY c.k ORDER BY count(o.x) DESC, sum(o.d), c.k LIMIT 5",
    "named outside": (
        "SELECT n, count(*) AS m FROM (SELECT c.k, count(o.x) FROM {join} GROUP BY c.k) AS g (k, n) GROUP BY n"
    ),
    "in a WITH": (
        "WITH g AS (SELECT c.k, count(o.x) AS n FROM {join} GROUP BY c.k) SELECT a.n FROM g a JOIN g b ON a.k = b.k"
    ),
}
INNER_TEXTS = {
    "comma": f"SELECT seg, {ALL} FROM c, o WHERE c.k = o.k AND o.x BETWEEN 2 AND 7 GROUP BY seg",
    "the left side": f"SELECT seg, {ALL} FROM o JOIN c ON c.k = o.k WHERE day < '2024-01-20' GROUP BY seg",
    "two keys": f"SELECT c.w, {ALL} FROM c JOIN o ON c.k = o.k AND o.k2 = c.w GROUP BY c.w",
    "a key twice": f"SELECT c.w, {ALL} FROM c JOIN o ON c.k = o.k AND c.w = o.k GROUP BY c.w",
}
CASES = {
    **{f"left, {name}": text.format(join=LEFT) for name, text in TEXTS.items()},
    **{f"inner, {name}": text.format(join=INNER) for name, text in TEXTS.items()},
    **{f"inner, {name}": text for name, text in INNER_TEXTS.items()},
}


TRIED = {
    f"{size}, {name}": (size, text)
    for size, (name, text) in product(SIZES, CASES.items())
    if size == "rows" or name.endswith(BY_SIZE)
}


def maybe(draw: random.Random, value: Any) -> Any:
    """NULL in every fifth row."""
    return None if draw.random() < 0.2 else value


def other_rows(draw: random.Random, count: int) -> list[tuple[Any, ...]]:
    return [(maybe(draw, draw.randrange(8)), maybe(draw, draw.choice("pqr")), draw.randrange(6)) for _ in range(count)]


def grouped_rows(draw: random.Random, count: int) -> list[tuple[Any, ...]]:
    return [
        (
            maybe(draw, draw.randrange(12)),
            maybe(draw, draw.randrange(6)),
            maybe(draw, draw.choice((*range(10), 2**31 - 1, -(2**31)))),
            maybe(draw, Decimal(draw.randrange(-(10**15), 10**15)).scaleb(-2)),
            maybe(draw, draw.choice(("ab", "B", "", "ç"))),
            maybe(draw, date(2024, 1, 1) + timedelta(draw.randrange(40))),
            maybe(draw, draw.choice((0.0, -0.0, float("nan"), 1.5))),
            draw.randrange(100),
            maybe(draw, draw.randrange(-128, 128)),
        )
        for _ in range(count)
    ]


def new_session(spark):
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", "2")
    return own


@pytest.fixture
def session(spark):
    """For tests that make their own views."""
    return new_session(spark)


def make_views(session, others: int, grouped: int, seed: int = 7) -> None:
    draw = random.Random(seed)
    for name, rows_of, schema, count in (("c", other_rows, OTHER, others), ("o", grouped_rows, GROUPED, grouped)):
        session.createDataFrame(rows_of(draw, count), schema).localCheckpoint().createOrReplaceTempView(name)


@pytest.fixture(scope="module")
def sessions(spark) -> dict[str, Any]:
    """One for each number of rows: their views and their few partitions are no other test's."""
    found = {name: new_session(spark) for name in SIZES}
    for name, sizes in SIZES.items():
        make_views(found[name], *sizes)
    return found


def rewritten(session, text: str) -> str:
    changed = rewrite(text, lambda name: table_columns(session, name))
    assert changed is not None
    return changed


def rows(frame) -> list[str]:
    """In any order, as text: a NULL sorts and NaN is equal to itself."""
    return sorted(map(repr, frame.collect()))


@pytest.mark.parametrize(("size", "text"), TRIED.values(), ids=TRIED.keys())
def test_rows_and_schema_are_the_same(sessions: dict[str, Any], size: str, text: str) -> None:
    session = sessions[size]
    before, after = session.sql(text), session.sql(rewritten(session, text))
    assert after.schema == before.schema  # names, types and which columns may be NULL
    assert rows(after) == rows(before)


def test_with_rows_the_join_gets_one_row_a_key(session) -> None:
    make_views(session, 40, 200)
    plan = session.sql(rewritten(session, CASES["left, by the key"]))._jdf.queryExecution().optimizedPlan().toString()
    assert plan.count("Aggregate") == 2
    assert plan.index("Aggregate") < plan.index("Join LeftOuter") < plan.rindex("Aggregate")


def test_random_queries_give_the_same_rows(session) -> None:
    """Aggregates, grouping, join and conditions in every mixture that a seed draws."""
    draw = random.Random(11)
    make_views(session, 30, 120, seed=11)
    aggregates = ("count(o.x)", "count(*)", "sum(o.d)", "min(o.s)", "max(day)", "sum(t)", "count(o.k)", "max(o.k)")
    conditions = ("o.x < 5", "s IS NOT NULL", "day >= DATE '2024-01-10'", "w > 1", "(o.x IN (1, 2) OR s = 'ab')")
    for join, group in product((LEFT, INNER), ("c.k", "seg", "o.k", "w, seg", "")):
        picked = draw.sample(aggregates, 3)
        items = [*group.split(", ")] * bool(group) + [f"{a} AS a{i}" for i, a in enumerate(picked)]
        on = "".join(f" AND {c}" for c in draw.sample(conditions, draw.randrange(4)))
        text = f"SELECT {', '.join(items)} FROM {join}{on}" + (f" GROUP BY {group}" if group else "")
        before, after = session.sql(text), session.sql(rewritten(session, text))
        assert after.schema == before.schema, text
        assert rows(after) == rows(before), text


def test_a_row_that_the_join_drops_does_not_end_the_query(session) -> None:
    """The largest values of a sum, all without a match: in ANSI mode an overflow would be an error."""
    session.sql("SELECT 1 AS k, 'p' AS seg, 1 AS w").createOrReplaceTempView("c")
    largest = "CAST(9999999999999.99 AS DECIMAL(15,2))"
    session.sql(
        f"SELECT 2 AS k, 2147483647 AS x, {largest} AS d FROM range(5000) UNION ALL SELECT 1, 5, 1.25"
    ).createOrReplaceTempView("o")
    text = "SELECT seg, sum(o.x) AS sx, sum(d) AS sd, count(*) AS n FROM c JOIN o ON c.k = o.k GROUP BY seg"
    before, after = session.sql(text), session.sql(rewritten(session, text))
    assert after.schema == before.schema
    assert after.collect() == before.collect()


@pytest.mark.parametrize(
    ("column", "aggregate"),
    [("CAST(1 AS BIGINT)", "sum"), ("CAST(1 AS DOUBLE)", "sum"), ("CAST(1 AS FLOAT)", "max"),
     ("CAST(1 AS DECIMAL(29,2))", "sum"), ("'a' COLLATE UTF8_LCASE", "min"), ("array(1)", "max")],
)  # fmt: skip
def test_types_are_those_that_the_session_tells(session, column: str, aggregate: str) -> None:
    session.sql("SELECT 1 AS k").createOrReplaceTempView("c")
    session.sql(f"SELECT 1 AS k, {column} AS v").createOrReplaceTempView("o")
    text = f"SELECT c.k, {aggregate}(v) AS a FROM c JOIN o ON c.k = o.k GROUP BY c.k"
    assert rewrite(text, lambda name: table_columns(session, name)) is None
    assert table_columns(session, "nobody") is None
    counted = text.replace(f"{aggregate}(", "count(")
    assert rewrite(counted, lambda name: table_columns(session, name)) is not None


FEW = "SELECT c.k, count(o.x) AS n, sum(o.x) AS s FROM c LEFT JOIN o ON c.k = o.k GROUP BY c.k"
GROUPED_FIRST = Policy.of(rewrites=["aggregate_before_join"])


def test_a_text_rests_on_the_columns_that_its_proof_was_about(session) -> None:
    make_views(session, 3, 9, seed=1)
    text = policy_text(FEW, GROUPED_FIRST, session.sql, JoinHints(jvm_of(session)))
    assert "planopt_aggregate_0" in text.sql
    check_columns(session, text)
    session.sql("SELECT 1 AS k, CAST(0.5 AS DOUBLE) AS x").createOrReplaceTempView("o")
    with pytest.raises(PolicyNotApplied, match="the columns of o have just changed"):
        check_columns(session, text)


def test_a_function_of_the_session_may_be_meant_instead_of_the_one_that_is_written(session) -> None:
    make_views(session, 3, 9, seed=1)
    session.sql("CREATE TEMPORARY FUNCTION coalesce(a BIGINT, b INT) RETURNS BIGINT RETURN a")
    try:
        with pytest.raises(PolicyNotApplied, match="`coalesce` is a function of the session"):
            policy_text(FEW, GROUPED_FIRST, session.sql, JoinHints(jvm_of(session)))
    finally:
        session.sql("DROP TEMPORARY FUNCTION coalesce")
    assert policy_text(FEW, GROUPED_FIRST, session.sql, JoinHints(jvm_of(session))).sql != FEW
