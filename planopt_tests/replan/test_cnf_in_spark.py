"""The rewrite `cnf` on a real table: Parquet sees the companion, fewer rows are read, and the same come out."""

from __future__ import annotations

import pytest

from planopt_assets.replan.rewrites.cnf import rewrite

pytestmark = pytest.mark.spark

OR = "SELECT id FROM t WHERE (a = 3 AND length(s) > 3) OR (a = 7 AND reverse(s) LIKE 'x%') ORDER BY id"


@pytest.fixture(scope="module")
def table(spark, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Forty row groups; `a` has one value in each, and NULL in some rows."""
    folder = str(tmp_path_factory.mktemp("cnf") / "t")
    rows = spark.range(0, 40_000, 1, 1).selectExpr(
        "id", "IF(id % 97 = 0, NULL, CAST(id DIV 1000 AS INT)) AS a", "IF(id % 2 = 0, 'abcx', 'ab') AS s"
    )
    rows.write.option("parquet.block.size", "1024").parquet(folder)
    spark.read.parquet(folder).createOrReplaceTempView("t")
    return folder


def pushed(frame) -> str:
    plan = frame._jdf.queryExecution().executedPlan().toString()
    return plan[plan.index("PushedFilters: ") :].splitlines()[0]


def test_parquet_sees_the_companion_and_not_the_or_itself(spark, table: str) -> None:
    text = rewrite(OR)
    assert text is not None
    assert "EqualTo(a,3)" not in pushed(spark.sql(OR))
    assert "Or(EqualTo(a,3),EqualTo(a,7))" in pushed(spark.sql(text))


def test_the_same_rows_come_out(spark, table: str) -> None:
    text = rewrite(OR)
    assert text is not None
    before = spark.sql(OR).collect()
    assert before
    assert spark.sql(text).collect() == before


def test_fewer_rows_come_out_of_the_scan(spark, table: str) -> None:
    text = rewrite(OR)
    assert text is not None
    assert rows_read(spark, text) < rows_read(spark, OR) == 40_000


def rows_read(spark, text: str) -> int:
    """Without ORDER BY there is no shuffle, so the scan is the one leaf of the plan."""
    frame = spark.sql(text.removesuffix(" ORDER BY id"))
    frame.collect()
    scan = frame._jdf.queryExecution().executedPlan().collectLeaves().apply(0)
    return int(scan.metrics().get("numOutputRows").get().value())
