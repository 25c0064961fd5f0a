"""What another plan may answer in another way is seen in the plan of Spark's own analyzer."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from planopt_assets.engine.jvm.bridge import Jvm
from planopt_assets.observe.plans.plan_dependent import AGGREGATES, plan_dependent

pytestmark = pytest.mark.spark

T = "(SELECT id, id % 3 AS k, CAST(id AS STRING) AS s FROM range(9)) t"
DEPENDENT = {
    f"SELECT spark_partition_id(), id FROM {T}": {"spark_partition_id"},
    f"SELECT monotonically_increasing_id() + 1 FROM {T}": {"monotonically_increasing_id"},
    f"SELECT id FROM {T} WHERE input_file_name() = ''": {"input_file_name"},
    f"SELECT input_file_block_start(), input_file_block_length() FROM {T}": {
        "input_file_block_start",
        "input_file_block_length",
    },
    f"SELECT rand(7) FROM {T}": {"rand"},
    f"SELECT shuffle(array(1, 2), 7) FROM {T}": {"shuffle"},
    f"SELECT k, first(id) FROM {T} GROUP BY k": {"first"},
    f"SELECT k, last(id, true) + 1 FROM {T} GROUP BY k": {"last"},
    f"SELECT k, any_value(id) FROM {T} GROUP BY k": {"any_value"},
    f"SELECT k, collect_list(id) FROM {T} GROUP BY k": {"collect_list"},
    f"SELECT k, array_agg(id) FROM {T} GROUP BY k": {"collect_list"},
    f"SELECT k, collect_set(id) FILTER (WHERE id > 1) FROM {T} GROUP BY k": {"collect_set"},
    f"SELECT k, element_at(collect_list(id), 1) FROM {T} GROUP BY k": {"collect_list"},
    f"SELECT size(l) FROM (SELECT collect_list(id) AS l FROM {T})": {"collect_list"},
    f"SELECT listagg(s, ',') FROM {T}": {"listagg"},
    f"SELECT string_agg(s) FROM {T}": {"listagg"},
    f"SELECT mode(id) FROM {T}": {"mode"},
    f"SELECT approx_percentile(id, 0.5) FROM {T}": {"approx_percentile"},
    f"SELECT first(id) OVER (PARTITION BY k) FROM {T}": {"first"},
    f"SELECT id FROM {T} LIMIT 3": {"LIMIT without ORDER BY"},
    f"SELECT id FROM {T} LIMIT 3 OFFSET 2": {"LIMIT without ORDER BY", "OFFSET without ORDER BY"},
    f"SELECT k, count(*) FROM {T} GROUP BY k LIMIT 1": {"LIMIT without ORDER BY"},
    f"SELECT id FROM {T} WHERE id = (SELECT id FROM {T} LIMIT 1)": {"LIMIT without ORDER BY"},
    f"SELECT id FROM {T} WHERE k IN (SELECT first(k) FROM {T})": {"first"},
    f"WITH c AS (SELECT first(id) AS f FROM {T}) SELECT f FROM c": {"first"},
    f"SELECT k FROM (SELECT k FROM {T}) TABLESAMPLE (50 PERCENT)": {"TABLESAMPLE"},
}
INDEPENDENT = [
    f"SELECT k, sort_array(collect_list(id)) FROM {T} GROUP BY k",
    f"SELECT k, size(collect_set(id)) AS n FROM {T} GROUP BY k HAVING size(collect_set(id)) > 1",
    f"SELECT array_max(collect_list(id)), array_contains(collect_list(id), 3) FROM {T}",
    f"SELECT listagg(s, ',') WITHIN GROUP (ORDER BY s) FROM {T}",
    f"SELECT approx_count_distinct(id), percentile(id, 0.5), median(id), max_by(id, k) FROM {T}",
    f"SELECT first(id) OVER (PARTITION BY k ORDER BY id), row_number() OVER (ORDER BY id) FROM {T}",
    f"SELECT collect_list(id) FILTER (WHERE id > 1) OVER (PARTITION BY k ORDER BY id) FROM {T}",
    f"SELECT id FROM {T} ORDER BY id LIMIT 3 OFFSET 1",
    f"SELECT x.id FROM (SELECT id FROM {T} ORDER BY s) x LIMIT 3",
    f"SELECT count(*), sum(id) FROM {T} LIMIT 1",
    f"SELECT DISTINCT k FROM {T}",
]


def of(frame: DataFrame) -> set[str]:
    return set(plan_dependent(Jvm(frame.sparkSession).tree(frame._jdf.queryExecution().analyzed())))


@pytest.mark.parametrize("sql", DEPENDENT)
def test_what_depends_on_the_plan_is_named(spark: SparkSession, sql: str) -> None:
    assert of(spark.sql(sql)) == DEPENDENT[sql]


@pytest.mark.parametrize("sql", INDEPENDENT)
def test_what_does_not_depend_on_it_is_left_alone(spark: SparkSession, sql: str) -> None:
    assert of(spark.sql(sql)) == set()


def test_frames_that_keep_one_of_several_rows(spark: SparkSession) -> None:
    frame = spark.range(9).select("id", (F.col("id") % 3).alias("k"))
    assert of(frame.dropDuplicates(["k"])) == {"dropDuplicates of some columns"}
    assert of(frame.distinct()) == of(frame.filter("k > 1").dropDuplicates()) == set()
    assert of(frame.sample(0.5, 7)) == {"TABLESAMPLE"}


def test_how_files_are_split_shows_in_their_metadata(spark: SparkSession, tmp_path_factory) -> None:
    path = str(tmp_path_factory.mktemp("files") / "t")
    spark.range(9).write.parquet(path)
    frame = spark.read.parquet(path)
    assert of(frame.select("_metadata.file_block_start")) == {"_metadata"}
    assert of(frame.select("_metadata")) == {"_metadata"}
    assert of(frame.select("_metadata.file_path")) == of(frame) == set()


def test_every_aggregate_on_the_list_is_known_to_this_spark(spark: SparkSession) -> None:
    jvm = Jvm(spark)
    for name in AGGREGATES:
        assert jvm.cls(f"org.apache.spark.sql.catalyst.expressions.aggregate.{name}") is not None
