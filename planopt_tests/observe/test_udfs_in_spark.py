"""The UDF audit reads what Spark's analyzer made of each kind of function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import orjson
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from pyspark.util import PythonEvalType

from planopt_assets.model.udf import LADDER, Udf
from planopt_assets.observe.plans.udfs import EVALUATIONS, UDF_SETTINGS, udf_audit
from planopt_tests.observe.shop_tables import shop_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    return shop_session(spark, tmp_path_factory.mktemp("shop"))


def audit(frame: DataFrame) -> Any:
    return udf_audit(orjson.loads(frame._jdf.queryExecution().analyzed().toJSON()))


def plus_one(x: int) -> int:
    return x + 1


def same_rows(rows: Any) -> Any:
    return rows


def pandas_plus(x: pd.Series) -> pd.Series:
    return x + 1


def pandas_mean(x: pd.Series) -> float:
    return float(x.mean())


def pandas_each(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
    yield from batches


def arrow_same(x: pa.Array) -> pa.Array:
    return x


FRAMES: dict[str, tuple[Callable[[DataFrame], DataFrame], tuple[str, str, str]]] = {
    "row by row": (
        lambda t: t.select(F.udf(plus_one, "bigint", useArrow=False)("id")),
        ("python", "batched", "row_wise"),
    ),
    "row by row over Arrow": (
        lambda t: t.select(F.udf(plus_one, "bigint", useArrow=True)("id")),
        ("python", "arrow_batched", "arrow_optimised"),
    ),
    "pandas": (
        lambda t: t.select(F.pandas_udf(pandas_plus, "bigint")("id")),
        ("pandas", "scalar_pandas", "vectorised"),
    ),
    "pandas in batches": (
        lambda t: t.select(F.pandas_udf(pandas_each, "bigint")("id")),
        ("pandas", "scalar_pandas_iter", "vectorised"),
    ),
    "pandas aggregate": (
        lambda t: t.groupBy("shop").agg(F.pandas_udf(pandas_mean, "double")("id")),
        ("pandas", "grouped_agg_pandas", "vectorised"),
    ),
    "Arrow": (
        lambda t: t.select(F.arrow_udf(arrow_same, "bigint")("id")),
        ("arrow", "scalar_arrow", "vectorised"),
    ),
    "mapInPandas": (
        lambda t: t.select("id").mapInPandas(same_rows, "id bigint"),
        ("pandas", "map_pandas_iter", "vectorised"),
    ),
    "mapInArrow": (
        lambda t: t.select("id").mapInArrow(same_rows, "id bigint"),
        ("arrow", "map_arrow_iter", "vectorised"),
    ),
    "applyInPandas": (
        lambda t: t.select("id").groupBy("id").applyInPandas(same_rows, "id bigint"),
        ("pandas", "grouped_map_pandas", "vectorised"),
    ),
    "applyInArrow": (
        lambda t: t.select("id").groupBy("id").applyInArrow(same_rows, "id bigint"),
        ("arrow", "grouped_map_arrow", "vectorised"),
    ),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_python_function_stands_on_its_rung(shop: SparkSession, kind: str) -> None:
    build, expected = FRAMES[kind]
    found = audit(build(shop.table("sales")))
    (function,) = found.functions
    assert (function.kind, function.evaluation, function.rung) == expected
    assert function.arguments == ("id",)
    assert found.worst == function.rung


def test_a_query_without_functions_of_its_own_is_built_in(shop: SparkSession) -> None:
    found = audit(shop.sql("SELECT upper(note), transform(tags, x -> x || 'y') FROM sales"))
    assert found.functions == ()
    assert found.worst == "builtin"


def test_functions_are_found_wherever_they_are_called(shop: SparkSession) -> None:
    shop.udf.register("py_double", F.udf(plus_one, "bigint", useArrow=False))
    found = audit(
        shop.sql(
            "SELECT py_double(py_double(shop + 1)) AS x FROM sales WHERE py_double(id) > "
            "(SELECT max(py_double(region)) FROM shops) ORDER BY py_double(id)"
        )
    )
    assert found.functions == tuple(
        Udf("py_double", "python", "batched", True, "bigint", (argument,), "row_wise", uses)
        for argument, uses in (
            ("add(shop, literal)", 1),
            ("id", 2),
            ("py_double(add(shop, literal))", 1),
            ("region", 1),
        )
    )


def test_the_worst_rung_counts(shop: SparkSession) -> None:
    slow, fast = F.udf(plus_one, "bigint", useArrow=False), F.pandas_udf(pandas_plus, "bigint")
    assert audit(shop.table("sales").select(fast("id"))).worst == "vectorised"
    assert audit(shop.table("sales").select(fast("id"), slow("shop"))).worst == "row_wise"


def test_a_function_says_whether_it_is_deterministic(shop: SparkSession) -> None:
    sure = F.udf(plus_one, "bigint", useArrow=False)
    assert audit(shop.table("sales").select(sure("id"))).functions[0].deterministic is True
    unsure = F.udf(plus_one, "bigint", useArrow=False).asNondeterministic()
    assert audit(shop.table("sales").select(unsure("id"))).functions[0].deterministic is False


def test_a_table_function(shop: SparkSession) -> None:
    class Twice:
        def eval(self, x: int) -> Iterator[tuple[int]]:
            yield (x,)

    shop.udtf.register("twice", F.udtf(Twice, returnType="y bigint", useArrow=False))
    (function,) = audit(shop.sql("SELECT id, y FROM sales, LATERAL twice(shop)")).functions
    assert (function.name, function.evaluation, function.rung) == ("twice", "table", "row_wise")
    assert function.returns == "struct<y:bigint>"
    assert function.arguments == ("shop",)


def test_every_way_pyspark_evaluates_a_function_is_known() -> None:
    known = {f"SQL_{name.upper()}": number for number, (name, _, _) in EVALUATIONS.items()}
    theirs = {name: number for name, number in vars(PythonEvalType).items() if name.startswith("SQL_")}
    assert {name.removesuffix("_UDF").replace("_UDF_", "_"): n for name, n in theirs.items()} == known
    assert {rung for _, _, rung in EVALUATIONS.values()} < set(LADDER)


def test_every_setting_exists_in_this_spark(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    find = jvm.org.apache.spark.internal.config.ConfigEntry.findEntry
    assert [name for name in UDF_SETTINGS if find(name) is None] == []
    assert find("spark.python.worker.noSuchSetting") is None
    assert list(UDF_SETTINGS) == sorted(UDF_SETTINGS)
