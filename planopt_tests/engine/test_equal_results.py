"""A candidate that returns anything else than the query does is never accepted; last digits of a sum do not count."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.experiment import Experiment
from planopt_assets.model.arm import Arm
from planopt_assets.model.candidate import Candidate
from planopt_assets.model.policy import Policy
from planopt_assets.model.verdict import Judgement
from planopt_assets.model.workload import Query
from planopt_tests.conftest import workload_of
from planopt_tests.lenient import LENIENT

pytestmark = pytest.mark.spark

CANDIDATE = Policy.of({"spark.sql.shuffle.partitions": "2"})
Tamper = Callable[[DataFrame], DataFrame]


class TamperedWorkspace(Workspace):
    """Runs every query as it is, but changes what the candidate returns."""

    tamper: Tamper

    def frame(self, query: Query, binding: int, arm: Arm) -> DataFrame:
        frame = super().frame(query, binding, arm)
        return frame if arm == self.baseline else self.tamper(frame)


@pytest.fixture(scope="module")
def workspace(spark: SparkSession, unchanging_tables: Path) -> TamperedWorkspace:
    """One for all cases, with two sessions: that of the queries, and that of the candidate."""
    return TamperedWorkspace(workload_of(unchanging_tables, []))


NUMBERS = itertools.count()


def verdict_of(workspace: TamperedWorkspace, sql: str, tamper: Tamper = lambda frame: frame) -> Judgement:
    query = Query(f"q{next(NUMBERS)}", sql=sql)
    workspace.tamper = tamper
    observed = workspace.execute(query, 0, workspace.baseline, timeout_s=60).digest
    candidate = Candidate(query.id, CANDIDATE, (), True, "", "", "", "", "")
    experiment = Experiment(
        workspace, query, [candidate], [observed], trial_prefix="tri", run_deadline=float("inf"), rules=LENIENT
    )
    return experiment.run()[0].judgement


GROUPS = "SELECT shop, count(note) AS notes, sum(id) AS total FROM sales GROUP BY shop"
ORDERED = "SELECT shop, count(*) AS n FROM sales GROUP BY shop ORDER BY shop"


SPECIAL = "CASE id WHEN 0 THEN double('NaN') WHEN 1 THEN {} ELSE 1.0D END"
INFINITY = "double('Infinity')"
DAY = "timestamp'2020-01-01 00:00:00.{}'"
MOVED = [  # what, before, after: all of them have the same names and types
    ("a NULL that moved inside an array", "array(id, NULL)", "array(NULL, id)"),
    ("a boundary between arrays", "array(array(1, 2), array(3))", "array(array(1), array(2, 3))"),
    ("a boundary between columns", "struct(array(1, 2), array(3))", "struct(array(1), array(2, 3))"),
    ("[NULL] for []", "slice(array(CAST(NULL AS INT)), 1, 0)", "array(CAST(NULL AS INT))"),
    ("[] for NULL", "CAST(NULL AS ARRAY<INT>)", "slice(array(1), 1, 0)"),
    (
        "a NULL that moved inside a struct",
        "named_struct('a', 1, 'b', NULL)::STRUCT<a: INT, b: INT>",
        "named_struct('a', NULL, 'b', 1)::STRUCT<a: INT, b: INT>",
    ),
    ("a struct of NULLs for NULL", "CAST(NULL AS STRUCT<a: INT>)", "named_struct('a', CAST(NULL AS INT))"),
    ("microseconds in a map", f"map('t', {DAY.format('000001')})", f"map('t', {DAY.format('000002')})"),
    ("another key of a map", "map('a', id)", "map('b', id)"),
    ("infinity in an array", "array(1.0D, double('Infinity'))", "array(1.0D, double('-Infinity'))"),
    ("a string for a date in a variant", "date'2020-01-01'::VARIANT", "'2020-01-01'::VARIANT"),
    ("a string that is equal only in its collation", "'a' COLLATE UTF8_LCASE", "'A' COLLATE UTF8_LCASE"),
    ("a value in the second of two fields of one name", "named_struct('a', 1, 'a', 2)", "named_struct('a', 1, 'a', 3)"),
    ("months for days", "make_interval(0, 1)", "make_interval(0, 0, 0, 30)"),
]


def test_the_same_result_is_accepted(workspace: TamperedWorkspace) -> None:
    verdict = verdict_of(workspace, GROUPS)
    assert (verdict.outcome, verdict.results_equal) == ("accept", True)


@pytest.mark.parametrize(
    ("what", "sql", "tamper", "words"),
    [
        (
            "one different row",
            GROUPS,
            lambda f: f.withColumn("total", F.when(F.col("shop") == 3, F.col("total") + 1).otherwise(F.col("total"))),
            "different values",
        ),
        ("one row more", GROUPS, lambda f: f.unionAll(f.limit(1)), "17 rows expected, 18 found"),
        ("one row less", GROUPS, lambda f: f.filter("shop <> 3"), "17 rows expected, 16 found"),
        (
            "two rows swapped for one row twice",
            GROUPS,
            lambda f: f.filter("shop <> 3").unionAll(f.filter("shop = 4")),
            "different values",
        ),
        (
            "NULL for 0",
            "SELECT id, id % 2 AS odd FROM sales",
            lambda f: f.withColumn("odd", F.when(F.col("odd") != 0, F.col("odd"))),
            "different values",
        ),
        (
            "a NULL that moved to the next column",
            "SELECT CAST(1 AS BIGINT) AS a, CAST(NULL AS BIGINT) AS b FROM shops",
            lambda f: f.select(F.col("b").alias("a"), F.col("a").alias("b")),
            "different values",
        ),
        ("another order under ORDER BY", ORDERED, lambda f: f.orderBy(F.desc("shop")), "ORDER BY"),
        (
            "a floating-point value that is really different in one row",
            "SELECT id, amount FROM sales",
            lambda f: f.withColumn(
                "amount", F.when(F.col("id") == 9, F.col("amount") + 1e-4).otherwise(F.col("amount"))
            ),
            "column amount",
        ),
        (
            "two floating-point values exchanged between rows, so that every sum stays",
            "SELECT id, CAST(id AS DOUBLE) AS value FROM sales",
            lambda f: f.withColumn(
                "value", F.when(F.col("id") < 2, 1 - F.col("id")).otherwise(F.col("id")).cast("double")
            ),
            "beyond tolerance",
        ),
        (
            "another column type",
            "SELECT id FROM sales",
            lambda f: f.select(F.col("id").cast("string").alias("id")),
            "columns (id bigint) expected, (id string) found",
        ),
        (
            "another column name",
            "SELECT id FROM sales",
            lambda f: f.withColumnRenamed("id", "key"),
            "columns (id bigint) expected, (key bigint) found",
        ),
        (
            "another name inside a struct",
            "SELECT named_struct('a', id) AS s FROM sales",
            lambda f: f.select(F.struct(F.col("s.a").alias("b")).alias("s")),
            "columns (s struct<a bigint>) expected, (s struct<b bigint>) found",
        ),
        (
            "another type inside an array",
            "SELECT array(id) AS a FROM sales",
            lambda f: f.select(F.col("a").cast("array<int>").alias("a")),
            "columns (a array<bigint>) expected, (a array<int>) found",
        ),
        (
            "NaN and 4.0 exchanged between rows",
            f"SELECT id, {SPECIAL.format('4.0D')} AS v FROM sales",
            lambda f: f.withColumn(
                "v", F.when(F.col("id") == 0, 4.0).when(F.col("id") == 1, float("nan")).otherwise(F.col("v"))
            ),
            "different values",
        ),
        (
            "-Infinity for Infinity",
            f"SELECT id, {SPECIAL.format(INFINITY)} AS v FROM sales",
            lambda f: f.withColumn("v", F.when(F.col("id") == 1, float("-inf")).otherwise(F.col("v"))),
            "different values",
        ),
        (
            "9e-10 for 0, in a column where that is much",
            "SELECT id, CASE WHEN id < 2 THEN id * 1e-9D ELSE 0.0D END AS v FROM sales",
            lambda f: f.withColumn("v", F.when(F.col("id") == 0, 9e-10).otherwise(F.col("v"))),
            "column v",
        ),
        *[
            (
                what,
                f"SELECT id, {before} AS v FROM sales",
                lambda f, a=after: f.withColumn("v", F.expr(a)),
                "different values",
            )
            for what, before, after in MOVED
        ],
    ],
)
def test_another_result_is_rejected(
    workspace: TamperedWorkspace, what: str, sql: str, tamper: Tamper, words: str
) -> None:
    verdict = verdict_of(workspace, sql, tamper)
    assert (verdict.outcome, verdict.results_equal) == ("reject", False), what
    assert words in verdict.reason


@pytest.mark.parametrize(
    ("what", "sql", "tamper"),
    [
        (
            "a floating-point sum that differs in the last digits",
            "SELECT shop, sum(amount) / 3 AS third FROM sales GROUP BY shop",
            lambda f: f.withColumn("third", F.col("third") * (1 + 1e-14)),
        ),
        (
            "ties of ORDER BY in another order",
            "SELECT city, shop FROM shops ORDER BY city",
            lambda f: f.orderBy("city", F.desc("shop")),
        ),
        (
            "maps with their entries in another order",
            "SELECT id, map('a', id, 'b', 2) AS m FROM sales",
            lambda f: f.withColumn("m", F.expr("map('b', 2, 'a', id)")),
        ),
        (
            "sums inside a struct, an array and a map that differ in the last digits",
            "SELECT id, named_struct('a', array(amount / 3), 'm', map('k', amount / 7)) AS v FROM sales",
            lambda f: f.withColumn(
                "v",
                F.struct(
                    F.transform("v.a", lambda x: x * (1 + 1e-14)).alias("a"),
                    F.transform_values("v.m", lambda _, x: x * (1 - 1e-14)).alias("m"),
                ),
            ),
        ),
        (
            "rows that only floating point tells apart, and last digits that change their order",
            "SELECT 1 / 3D AS a, id / 7D AS b FROM sales",
            lambda f: f.withColumn("a", F.col("a") * (1 + F.sin(F.col("b")) * 1e-14)),
        ),
        (
            "0.0 and -0.0, which are equal in Spark",
            "SELECT id, array(0.0D) AS a, 0.0D AS v FROM sales",
            lambda f: f.withColumn("v", F.lit(-0.0)).withColumn("a", F.array(F.lit(-0.0))),
        ),
        (
            "a value of 32 bits that was rounded the other way",
            "SELECT id, CAST(amount / 3 AS FLOAT) AS v FROM sales",
            lambda f: f.withColumn("v", (F.col("v") * F.lit(1.0000001)).cast("float")),
        ),
        ("two fields of one name", "SELECT named_struct('a', id, 'a', 1.5D) AS s FROM sales", lambda f: f),
        ("NaN and infinity", "SELECT id, double('NaN') AS a, double('-Infinity') AS b FROM sales", lambda f: f),
        ("two columns of one name", "SELECT id AS x, shop AS x FROM sales", lambda f: f),
        ("no row at all", "SELECT id, amount FROM sales WHERE id < 0", lambda f: f),
    ],
)
def test_what_is_the_same_to_a_reader_is_accepted(
    workspace: TamperedWorkspace, what: str, sql: str, tamper: Tamper
) -> None:
    assert verdict_of(workspace, sql, tamper).outcome == "accept", what


@pytest.mark.parametrize("sql", ["SELECT id, rand() AS r FROM sales", "SELECT id FROM sales ORDER BY rand() LIMIT 5"])
def test_a_query_that_varies_by_itself_is_inconclusive(workspace: TamperedWorkspace, sql: str) -> None:
    verdict = verdict_of(workspace, sql)
    assert verdict.outcome == "inconclusive"
    assert "varies from run to run" in verdict.reason
