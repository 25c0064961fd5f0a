"""The rewrite `aggregate_before_join` on the texts of TPC-H and TPC-DS, with DuckDB as the judge of results."""

from __future__ import annotations

import pytest

from benchmarks.tpc.texts import SUITES, Suite, connected, texts
from planopt_assets.replan.column_types import ColumnsOf
from planopt_assets.replan.rewrites.aggregate_before_join import rewrite

pytestmark = pytest.mark.fast

GENERATORS = {"tpch": "CALL dbgen(sf={})", "tpcds": "CALL dsdgen(sf={})"}
IN_SPARK = {"varchar": "string", "integer": "int"}


def columns_in(connection) -> ColumnsOf:
    found: dict[str, dict[str, str]] = {}
    asked = "SELECT table_name, column_name, lower(data_type) FROM information_schema.columns"
    for table, column, kind in connection.execute(asked).fetchall():
        found.setdefault(table, {})[column] = IN_SPARK.get(kind, kind)
    return lambda name: found.get(name.lower())


@pytest.mark.parametrize("suite", SUITES)
def test_only_the_thirteenth_query_of_tpch_can_be_rewritten(suite: Suite) -> None:
    with connected(suite) as connection:
        connection.execute(GENERATORS[suite].format(0))
        columns_of = columns_in(connection)
    found = [name for name, text in texts(suite).items() if rewrite(text, columns_of) is not None]
    assert found == (["tpch_q13"] if suite == "tpch" else [])


def test_its_rows_are_the_same_in_the_same_order() -> None:
    text = texts("tpch")["tpch_q13"]
    with connected("tpch") as connection:
        connection.execute(GENERATORS["tpch"].format(0.01))
        changed = rewrite(text, columns_in(connection))
        assert changed is not None
        assert "AS planopt_aggregate_0 FROM orders WHERE (o_comment NOT LIKE '%special%requests%') GROUP BY" in changed
        before = connection.execute(text).fetchall()
        assert before
        assert connection.execute(changed).fetchall() == before
