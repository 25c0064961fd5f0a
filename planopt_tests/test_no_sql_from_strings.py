"""planopt's own queries use the DataFrame API: no SQL is written into the package or put together there."""

from __future__ import annotations

import pytest

from planopt_tests.sql_calls import SqlCall, sql_calls
from planopt_tests.test_boundaries import FILES, PACKAGE

pytestmark = pytest.mark.fast

THE_USERS_OWN_TEXT = {
    # the gate parses the text it is to judge
    "engine/gate/sql_gate.py": {SqlCall("parsePlan", "variable", "sql")},
    # a query of the workload under a policy, after the gate; parameters are bound by Spark
    "engine/frames/query_frames.py": {SqlCall("sql", "variable", "text")},
    # the same text in a copy of the user's session
    "engine/user_job/user_session.py": {SqlCall("sql", "variable", "text")},
    # in the user's session, as the user's job gave it
    "job/tuned_query.py": {SqlCall("sql", "variable", "text"), SqlCall("sql", "variable", "wanted")},
}
"""Where a text that the user wrote is handed to Spark, whole and through a variable."""


def test_the_package_hands_no_text_of_its_own_to_a_parser() -> None:
    found = {file.relative_to(PACKAGE).as_posix(): set(sql_calls(file.read_text("utf-8"))) for file in FILES}
    assert {name: calls for name, calls in found.items() if calls} == THE_USERS_OWN_TEXT


PLANTED = {
    "f-string": ('spark.sql(f"SELECT * FROM {table}")', "built"),
    "f-string without a hole": ('spark.sql(f"SELECT 1")', "built"),
    "plus": ('spark.sql("SELECT * FROM " + table)', "built"),
    "plus on the left": ('spark.sql(head + " WHERE a = 1")', "built"),
    "percent": ('spark.sql("SELECT * FROM %s" % table)', "built"),
    "format": ('spark.sql("SELECT * FROM {}".format(table))', "built"),
    "join": ('spark.sql(" UNION ALL ".join(parts))', "built"),
    "replace": ('spark.sql("SELECT * FROM t".replace("t", table))', "built"),
    "written out": ('spark.sql("SELECT 1")', "fragment"),
    "by name": ('spark.sql(sqlQuery=f"SELECT {x}")', "built"),
    "walrus": ('spark.sql(text := f"SELECT {x}")', "built"),
    "either": ('spark.sql(f"SELECT {x}" if x else text)', "built"),
    "in a variable": ('def f():\n    text = f"SELECT {x}"\n    return spark.sql(text)', "built"),
    "in a variable of the module": ('Q = "SELECT 1"\ndef f():\n    return spark.sql(Q)', "fragment"),
    "in a variable, bit by bit": (
        'def f():\n    q = "SELECT 1"\n    q += tail\n    q += " x"\n    spark.sql(q)',
        "built",
    ),
    "in a lambda": ('run(lambda s: s.sql(f"SELECT {x}"))', "built"),
    "of a variable": ("spark.sql(text)", "variable"),
    "of a call": ("spark.sql(text_of(query))", "variable"),
    "expr": ('F.expr(f"{column} > 1")', "built"),
    "expr by itself": ('expr("a > 1")', "fragment"),
    "second of selectExpr": ('frame.selectExpr(*names, f"{a} AS b")', "built"),
    "all of selectExpr": ('frame.selectExpr(*[f"{a} AS b" for a in names])', "built"),
    "filter": ('frame.filter("shop = 3")', "fragment"),
    "where": ('frame.where(f"shop = {shop}")', "built"),
    "where by name": ('frame.where(condition="shop = " + shop)', "built"),
    "delta-rs": ('QueryBuilder().register("t", t).execute(f"SELECT {x} FROM t")', "built"),
    "merge": ('table.merge(source, predicate=f"t.id = {x}")', "built"),
    "delete": ('table.delete("id = 1")', "fragment"),
    "parser": ('parser.parsePlan(f"SELECT {x}")', "built"),
}


@pytest.mark.parametrize(("source", "kind"), PLANTED.values(), ids=PLANTED.keys())
def test_a_planted_case_is_found(source: str, kind: str) -> None:
    assert kind in {call.kind for call in sql_calls(source)}


@pytest.mark.parametrize(
    "source",
    [
        'frame.where(F.col("shop") == 3)',
        "frame.filter(condition)",
        "workspace.execute(query, 0, policy)",
        "dg.Definitions.merge(found, shared)",
        "query.sql().write",
        "sql(predicate)",  # the package's own, which writes a predicate for people
        'known.update({"a": 1})',
        'print(f"SELECT {x}")',
        'def f():\n    text = f"SELECT {x}"\n    return frame.where(column)',
    ],
)
def test_what_is_no_sql_is_left_alone(source: str) -> None:
    assert sql_calls(source) == []


def test_a_variable_of_one_function_is_unknown_in_another() -> None:
    source = 'def f():\n    text = "a"\ndef g(text):\n    return frame.where(text)'
    assert sql_calls(source) == []
