"""Joins of a text are counted as Spark counts them in the analysed plan; `test_hints_in_spark.py` asks Spark itself."""

from __future__ import annotations

import pytest

from planopt_assets.observe.sql.tokens import SPARK
from planopt_assets.replan.text_joins import text_joins

pytestmark = pytest.mark.fast

# text -> inputs of its joins in order; `.` is an input without a name
COUNTED = {
    "SELECT 1 FROM a": [],
    "SELECT 1": [],
    "SELECT 1 FROM a JOIN b": ["a b"],
    "SELECT 1 FROM a JOIN b JOIN c": [". c", "a b"],
    "SELECT 1 FROM a, b JOIN c, d": [". d", ". c", "a b"],
    "SELECT 1 FROM a JOIN (b JOIN c) ON true": ["a .", "b c"],
    "SELECT 1 FROM (a JOIN b) z JOIN c": ["z c", ". ."],
    "SELECT 1 FROM a x JOIN (SELECT 1 FROM b JOIN c) y": ["x y", "b c"],
    "SELECT 1 FROM (SELECT 1 FROM b JOIN c) JOIN a": [". a", "b c"],
    "SELECT 1 FROM a JOIN b UNION SELECT 1 FROM c JOIN d EXCEPT SELECT 1 FROM e JOIN f": ["a b", "c d", "e f"],
    "WITH x AS (SELECT 1 FROM a JOIN b), y AS (SELECT 1 FROM x JOIN c) SELECT 1 FROM x JOIN y": ["a b", "x c", "x y"],
    "SELECT 1 FROM a LEFT SEMI JOIN b USING (k) NATURAL JOIN c": [". c", "a b"],
    "SELECT 1 FROM a, LATERAL (SELECT 1 FROM b JOIN c) l JOIN d": ["a d"],
    "SELECT (SELECT max(c.k) FROM c JOIN d) FROM a JOIN b WHERE a.k IN (SELECT e.k FROM e JOIN f)": ["a b"],
    "SELECT 1 FROM VALUES (1) v(k) JOIN range(5) r": ["v r"],
}


@pytest.mark.parametrize("text", COUNTED)
def test_joins_are_counted_depth_first(text: str) -> None:
    tree = SPARK.parse(text)[0]
    assert tree is not None
    found = text_joins(tree)
    names = [" ".join(side.name if side else "." for side in (j.left, j.right)) for j in found.joins]
    assert (names, found.doubt) == (COUNTED[text], "")


@pytest.mark.parametrize(
    "text",
    [
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r JOIN a) SELECT 1 FROM r JOIN b",
        "SELECT 1 FROM a JOIN (WITH x AS (SELECT 1 FROM b JOIN c) SELECT 1 FROM x JOIN d) e",
    ],
)
def test_where_spark_moves_definitions_the_order_is_in_doubt(text: str) -> None:
    tree = SPARK.parse(text)[0]
    assert tree is not None
    assert text_joins(tree).doubt == "a WITH is recursive or inside another query"
