"""The rewrite `aggregate_before_join` changes no result: drawn queries over drawn rows, asked of another engine."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.replan.rewrites.aggregate_before_join import rewrite

pytestmark = pytest.mark.fast

SMALL = {"c": {"k": "int", "g": "int", "w": "int"}, "o": {"k": "int", "x": "int", "y": "int"}}
NUMBERS = st.one_of(st.none(), st.integers(0, 3))
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=8)
CALLS = st.sampled_from(
    ["count(o.x)", "count(*)", "count(1)", "min(o.x)", "max(y)", "sum(o.x)", "count(o.k)", "sum(y)"]
)
CONDITIONS = st.sampled_from(["o.x > 1", "(y = 2 OR o.x IS NULL)", "NOT y IN (1, 3)", "w > 0", "o.k <> 2", "c.k = o.y"])
GROUPS = st.sampled_from(["c.k", "g", "o.k", "g, o.k", "w, c.k", ""])


@st.composite
def queries(draw: st.DrawFn) -> str:
    calls = draw(st.lists(CALLS, min_size=1, max_size=3))
    group, conditions = draw(GROUPS), draw(st.lists(CONDITIONS, max_size=3))
    items = [*([group] if group else []), *(f"{call} AS a{number}" for number, call in enumerate(calls))]
    join = draw(st.sampled_from(["c LEFT JOIN o", "c JOIN o", "o JOIN c"]))
    text = f"SELECT {', '.join(items)} FROM {join} ON {' AND '.join(['c.k = o.k', *conditions])}"
    if draw(st.booleans()):
        text += f" WHERE {draw(st.sampled_from(['g > 0', 'o.k IS NULL', 'o.k > 0 OR g IS NULL', 'c.k <> 1']))}"
    text += f" GROUP BY {group}" if group else ""
    return text + (f" HAVING {calls[0]} >= 1" if draw(st.booleans()) else "")


def answer(sql: str, others: list[tuple[object, ...]], grouped: list[tuple[object, ...]]) -> list[str]:
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE c (k, g, w)")
        database.execute("CREATE TABLE o (k, x, y)")
        database.executemany("INSERT INTO c VALUES (?, ?, ?)", others)
        database.executemany("INSERT INTO o VALUES (?, ?, ?)", grouped)
        return sorted(map(repr, database.execute(sql).fetchall()))


@settings(max_examples=150, deadline=None)
@given(sql=queries(), others=ROWS, grouped=ROWS)
def test_whatever_is_rewritten_gives_the_same_rows(
    sql: str, others: list[tuple[object, ...]], grouped: list[tuple[object, ...]]
) -> None:
    changed = rewrite(sql, SMALL.get)
    if changed is not None:
        assert answer(changed, others, grouped) == answer(sql, others, grouped), changed


def test_the_property_is_not_empty() -> None:
    for join in ("c LEFT JOIN o", "c JOIN o", "o JOIN c"):
        assert rewrite(f"SELECT g, count(o.x) AS a0 FROM {join} ON c.k = o.k AND o.x > 1 GROUP BY g", SMALL.get)
