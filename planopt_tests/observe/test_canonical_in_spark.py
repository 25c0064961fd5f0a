"""The canonical text gives the result of the original, under the same column names."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from planopt_assets.observe.sql.canonical import canonical_form
from planopt_tests.fresh_python import ROOT
from planopt_tests.observe.shop_tables import SHOP_SCHEMAS, shop_session
from planopt_tests.observe.sql_files import queries_in
from planopt_tests.observe.tpc import tpc_queries, write_tpch_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SHOP = queries_in("canonical.sql")
EXAMPLES = {file.stem: file.read_text(encoding="utf-8") for file in sorted(ROOT.glob("examples/tpch/queries/*.sql"))}
PARAMETERS = {"late_shipments": {"segment": "BUILDING", "since": "1995-01-01"}}
VARIES = {"audit_sample"}  # `ORDER BY rand()`: only its columns and the number of rows can be compared
SOME_TPCH = ("q15", "q20", "q21")


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    return shop_session(spark, tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="module")
def tpch(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    session = spark.newSession()
    for name, path in write_tpch_tables(tmp_path_factory.mktemp("tpch")).items():
        session.read.format("delta").load(str(path)).createOrReplaceTempView(name)
    return session


def result(session: SparkSession, sql: str, parameters: dict[str, str] | None = None) -> tuple[list[str], Counter[str]]:
    """Column names and rows, in any order."""
    frame = session.sql(sql, parameters)
    return frame.columns, Counter(repr(tuple(row)) for row in frame.collect())


@pytest.mark.parametrize("name", SHOP)
def test_a_canonical_text_is_the_same_query(shop: SparkSession, name: str) -> None:
    canonical = canonical_form(SHOP[name], SHOP_SCHEMAS)
    assert canonical.form == "sqlglot", canonical.reason
    original, rewritten = shop.sql(SHOP[name]), shop.sql(canonical.sql)
    assert rewritten.columns == original.columns
    # Where Spark sees at once that the plans are equal, there is nothing to run.
    assert rewritten.sameSemantics(original) or result(shop, canonical.sql) == result(shop, SHOP[name])


def test_another_query_is_not_the_same(shop: SparkSession) -> None:
    text = SHOP["aliased_table"]
    other = text.replace("24", "200")
    assert not shop.sql(text).sameSemantics(shop.sql(other))
    assert result(shop, text) != result(shop, other)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_canonical_text_of_an_example_gives_the_same_result(tpch: SparkSession, name: str) -> None:
    canonical = canonical_form(EXAMPLES[name], schemas_of(tpch))
    assert canonical.form == "sqlglot", canonical.reason
    names, rows = result(tpch, canonical.sql, PARAMETERS.get(name))
    expected_names, expected_rows = result(tpch, EXAMPLES[name], PARAMETERS.get(name))
    assert names == expected_names
    assert rows == expected_rows or (name in VARIES and rows.total() == expected_rows.total() > 0)


@pytest.mark.parametrize("name", SOME_TPCH)
def test_the_canonical_text_of_tpch_gives_the_same_result(tpch: SparkSession, name: str) -> None:
    text = tpc_queries("tpch")[name]
    canonical = canonical_form(text, schemas_of(tpch))
    assert canonical.form == "sqlglot", canonical.reason
    assert result(tpch, canonical.sql) == result(tpch, text)


def schemas_of(session: SparkSession) -> dict[str, list[tuple[str, str]]]:
    return {table.name: session.table(table.name).dtypes for table in session.catalog.listTables()}
