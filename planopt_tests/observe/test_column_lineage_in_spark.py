"""Column lineage against what a person says and against what Spark reads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import pytest
from pyspark.sql import functions as F

from planopt_assets.model.column_lineage import ColumnLineage
from planopt_assets.observe.plans.column_lineage import UNREGISTERED, column_lineage
from planopt_tests.observe.shop_tables import SHOP_SCHEMAS, shop_session
from planopt_tests.observe.sql_files import queries_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

QUERIES = queries_in("canonical.sql")
TABLES = {name: name for name in SHOP_SCHEMAS}
_SCAN = re.compile(r"Location: \w+\(\d+ paths\)\[file:[^\]]*/(\w+)\].*?ReadSchema: struct<(.*)>")


def expectations() -> dict[str, ColumnLineage]:
    lines = (Path(__file__).parent / "sql" / "lineage.txt").read_text(encoding="utf-8").splitlines()[1:]
    expected = {}
    for line in lines:
        name, required, outputs = (part.strip() for part in line.split("|"))
        tables = [entry.partition(":") for entry in required.split("; ") if entry]
        columns = [entry.rpartition(" =") for entry in outputs.split("; ")]
        expected[name] = ColumnLineage(
            {table: tuple(names.split()) for table, _, names in tables},
            tuple((output.strip(), tuple(origins.split())) for output, _, origins in columns),
        )
    return expected


EXPECTED = expectations()


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    session = shop_session(spark, tmp_path_factory.mktemp("shop"))
    session.conf.set("spark.sql.maxMetadataStringLength", 100_000)
    return session


def lineage(frame: DataFrame, **options: dict[int, str]) -> ColumnLineage:
    return column_lineage(orjson.loads(frame._jdf.queryExecution().analyzed().toJSON()), TABLES, **options)


def columns_read(frame: DataFrame) -> dict[str, set[str]]:
    """The columns in the physical plan's scans, as Spark's own pruning left them."""
    read: dict[str, set[str]] = {}
    for table, schema in _SCAN.findall(frame._jdf.queryExecution().executedPlan().toString()):
        while re.search(r"[<(][^<>()]*[>)]", schema):
            schema = re.sub(r"[<(][^<>()]*[>)]", "", schema)
        read.setdefault(table, set()).update(c.partition(":")[0] for c in schema.split(",") if c)
    return read


@pytest.mark.parametrize("name", EXPECTED)
def test_lineage_is_what_a_person_says_and_covers_what_spark_reads(shop: SparkSession, name: str) -> None:
    frame = shop.sql(QUERIES[name])
    found = lineage(frame)
    assert found == EXPECTED[name]
    for table, columns in columns_read(frame).items():
        assert columns <= set(found.required[table])


def test_the_scans_are_found(shop: SparkSession) -> None:
    frame = shop.sql(QUERIES["struct_fields"])
    assert columns_read(frame) == {"sales": {"address"}}
    assert columns_read(shop.sql(QUERIES["hints"])) == {"sales": {"id", "shop"}, "shops": {"city", "shop"}}


def test_a_view_over_a_table_is_seen_through(shop: SparkSession) -> None:
    shop.sql("CREATE OR REPLACE TEMPORARY VIEW totals AS SELECT shop, sum(amount) AS total FROM sales GROUP BY shop")
    seen = lineage(shop.sql("SELECT total FROM totals"))
    assert seen == ColumnLineage({"sales": ("amount", "shop")}, (("total", ("sales.amount",)),))


def test_a_dataframe_query(shop: SparkSession) -> None:
    sales = shop.table("sales").observe("rows", F.count("note")).dropDuplicates(["day"])
    frame = sales.join(shop.table("shops"), "shop").groupBy("city").agg(F.sum("amount").alias("total"))
    assert lineage(frame) == ColumnLineage(
        {"sales": ("amount", "day", "note", "shop"), "shops": ("city", "shop")},
        (("city", ("shops.city",)), ("total", ("sales.amount",))),
    )


def test_a_function_over_whole_rows_may_use_all_it_is_given(shop: SparkSession) -> None:
    frame = shop.table("sales").select("id", "shop").mapInPandas(lambda rows: rows, "id bigint, shop bigint")
    both = ("sales.id", "sales.shop")
    assert lineage(frame) == ColumnLineage({"sales": ("id", "shop")}, (("id", both), ("shop", both)))


def test_a_path_has_its_name_from_the_side(shop: SparkSession, tmp_path: Path) -> None:
    shop.table("shops").write.format("delta").save(str(tmp_path / "shops"))
    frame = shop.read.format("delta").load(str(tmp_path / "shops")).select("city")
    assert lineage(frame).required == {UNREGISTERED: ("city",)}
    leaf = frame._jdf.queryExecution().analyzed().collectLeaves().apply(0)
    expression_id = leaf.output().apply(0).exprId().id()
    assert lineage(frame, leaves={expression_id: "shops"}).required == {"shops": ("city",)}
    by_name = column_lineage(
        orjson.loads(shop.sql(f"SELECT city FROM delta.`{tmp_path}/shops`")._jdf.queryExecution().analyzed().toJSON()),
        {f"{tmp_path}/shops": "shops"},
    )
    assert by_name.required == {"shops": ("city",)}


def test_plain_data(shop: SparkSession) -> None:
    assert lineage(shop.sql(QUERIES["group_by_alias"])).to_json() == {
        "required": {"sales": ["day"]},
        "outputs": [
            {"name": "y", "from": ["sales.day"]},
            {"name": "m", "from": ["sales.day"]},
            {"name": "n", "from": []},
        ],
    }
