"""Queries that bring out every shape of plan the two extractors must read alike, and the tables they run on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NO_BROADCAST = {"spark.sql.autoBroadcastJoinThreshold": "-1"}
HASH_JOINS = NO_BROADCAST | {"spark.sql.join.preferSortMergeJoin": "false"}
STATIC = {"spark.sql.adaptive.enabled": "false"}
TRAPS = "SELECT * FROM sales WHERE note = '{0}' AND shop > (SELECT min(shop) FROM shops WHERE city <> '{0}')"


@dataclass(frozen=True)
class Shape:
    """One query with the settings that make Spark plan it the way its name says."""

    name: str
    query: str | Callable[[SparkSession], DataFrame]
    settings: dict[str, str] = field(default_factory=dict)
    runs: bool = True  # Python workers are slow to start and their plans do not change when they run

    def frame(self, spark: SparkSession) -> DataFrame:
        """The query, planned under its own settings; they are undone when the next shape is asked for."""
        for name in (*NO_BROADCAST, *HASH_JOINS, *STATIC):
            spark.conf.unset(name)
        for name, value in self.settings.items():
            spark.conf.set(name, value)
        frame = spark.sql(self.query) if isinstance(self.query, str) else self.query(spark)
        frame._jdf.queryExecution().executedPlan()
        return frame


def make_shape_tables(folder: Path) -> dict[str, str]:
    """Three small Delta tables, one of them partitioned; their folders with the names they are registered by."""
    from deltalake import write_deltalake

    ids = list(range(400))
    data = {
        "sales": pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "shop": pa.array([i % 17 for i in ids], pa.int64()),
                "amount": pa.array([i / 8 for i in ids], pa.float64()),
                "note": pa.array([None if i % 5 == 0 else f"n{i % 11}" for i in ids]),
            }
        ),
        "shops": pa.table(
            {
                "shop": pa.array(range(17), pa.int64()),
                "city": pa.array([f"c{i % 4}" for i in range(17)]),
                "tags": pa.array([["a", "b"]] * 17, pa.list_(pa.string())),
            }
        ),
        "visits": pa.table(
            {
                "shop": pa.array([i % 17 for i in ids], pa.int64()),
                "visitors": pa.array(ids, pa.int64()),
                "day": pa.array([i % 6 for i in ids], pa.int32()),
            }
        ),
    }
    for name, rows in data.items():
        write_deltalake(folder / name, rows, partition_by=["day"] if name == "visits" else None)
    return {str(folder / name): name for name in data}


def register(spark: SparkSession, tables: dict[str, str]) -> None:
    """The tables as views, in a session whose shuffles are as small as they are."""
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    for location, name in tables.items():
        spark.read.format("delta").load(location).createOrReplaceTempView(name)


def _cached(spark: SparkSession) -> DataFrame:
    spark.sql("CREATE OR REPLACE TEMP VIEW few AS SELECT shop, sum(amount) AS total FROM sales GROUP BY shop")
    spark.sql("CACHE LAZY TABLE few")
    return spark.sql("SELECT city, total FROM few JOIN shops USING (shop) WHERE total > 3")


def _cached_frame(spark: SparkSession) -> DataFrame:
    few = spark.sql("SELECT shop, max(amount) AS most FROM sales WHERE note = 'n3' GROUP BY shop").cache()
    return few.filter("most > 1").join(few.withColumnRenamed("most", "again"), "shop")


def _row_wise_udf(spark: SparkSession) -> DataFrame:
    from pyspark.sql.functions import udf

    return spark.table("sales").select("id", udf(lambda n: n + 1, "long", useArrow=False)("shop").alias("next"))


def _arrow_udf(spark: SparkSession) -> DataFrame:
    from pyspark.sql.functions import udf

    return spark.table("sales").filter(udf(lambda n: n > 3, "boolean", useArrow=True)("shop")).select("id")


def _grouped_map(spark: SparkSession) -> DataFrame:
    return (
        spark.table("sales").groupBy("shop").applyInPandas(lambda f: f[["shop", "amount"]], "shop long, amount double")
    )


def _local_rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([(1, "a"), (2, "b")], "shop long, label string").join(spark.table("shops"), "shop")


def _rdd_rows(spark: SparkSession) -> DataFrame:
    rows = spark.sparkContext.parallelize([(1, "x")], 1)
    return spark.createDataFrame(rows, "shop long, label string").join(spark.table("shops"), "shop")


def _observed(spark: SparkSession) -> DataFrame:
    from pyspark.sql import functions as F

    from planopt_assets.observe.plans.normalise import DIGEST_NAME

    mine = spark.table("sales").observe("mine", F.count(F.lit(1)).alias("n")).groupBy("shop").count()
    return mine.observe(DIGEST_NAME, F.count(F.lit(1)).alias("rows"))


def _sampled(spark: SparkSession) -> DataFrame:
    return spark.table("sales").sample(0.5, seed=7).repartition(3, "shop").coalesce(2).distinct()


SHAPES = (
    # joins
    Shape("broadcast_right", "SELECT * FROM sales JOIN shops USING (shop) WHERE amount > 3"),
    Shape("broadcast_left", "SELECT /*+ BROADCAST(a) */ * FROM shops a RIGHT JOIN sales b ON a.shop = b.shop"),
    Shape("broadcast_inner_left", "SELECT /*+ BROADCAST(a) */ * FROM sales a JOIN shops b ON a.shop = b.shop"),
    Shape(
        "broadcast_condition",
        "SELECT * FROM sales a LEFT JOIN shops b ON a.shop = b.shop AND a.id > length(b.city) AND a.note < b.city",
    ),
    Shape("sort_merge", "SELECT * FROM sales JOIN shops USING (shop)", NO_BROADCAST),
    Shape("sort_merge_full", "SELECT * FROM sales a FULL JOIN shops b ON a.shop = b.shop AND a.id > 3", NO_BROADCAST),
    Shape(
        "shuffled_hash", "SELECT /*+ SHUFFLE_HASH(b) */ * FROM sales a JOIN shops b ON a.shop = b.shop", NO_BROADCAST
    ),
    Shape("shuffled_hash_left", "SELECT /*+ SHUFFLE_HASH(a) */ * FROM sales a JOIN shops b USING (shop)", NO_BROADCAST),
    Shape("nested_loop", "SELECT * FROM sales a LEFT JOIN shops b ON a.shop > b.shop"),
    Shape("nested_loop_left", "SELECT /*+ BROADCAST(a) */ * FROM sales a JOIN shops b ON a.shop < b.shop"),
    Shape("cartesian", "SELECT * FROM sales a JOIN shops b ON a.shop > b.shop", NO_BROADCAST),
    Shape("semi", "SELECT * FROM sales WHERE shop IN (SELECT shop FROM shops WHERE city = 'c1')"),
    Shape("anti_null_aware", "SELECT * FROM sales WHERE shop NOT IN (SELECT shop FROM shops WHERE city = 'c1')"),
    Shape("existence", "SELECT * FROM sales s WHERE id < 9 OR EXISTS (SELECT 1 FROM shops p WHERE p.shop = s.shop)"),
    Shape("no_columns", "SELECT count(*) FROM sales JOIN shops USING (shop) WHERE amount > 3"),
    Shape(
        "three_way", "SELECT city, sum(visitors) FROM sales JOIN shops USING (shop) JOIN visits USING (shop) GROUP BY 1"
    ),
    # aggregates, windows, sets
    Shape(
        "aggregate", "SELECT shop, sum(amount), count(DISTINCT note) FROM sales WHERE id BETWEEN 5 AND 90 GROUP BY shop"
    ),
    Shape("sort_aggregate", "SELECT shop, max(note) FROM sales GROUP BY shop"),
    Shape("object_aggregate", "SELECT shop, collect_list(note) FROM sales GROUP BY shop ORDER BY shop"),
    Shape("global_aggregate", "SELECT count(*), avg(amount) FROM sales WHERE note LIKE 'n%1'"),
    Shape("window", "SELECT id, row_number() OVER (PARTITION BY shop ORDER BY amount DESC) r FROM sales"),
    Shape(
        "window_limit",
        "SELECT * FROM (SELECT id, rank() OVER (PARTITION BY shop ORDER BY amount) r FROM sales) WHERE r <= 2",
    ),
    Shape("rollup", "SELECT shop, note, count(1) FROM sales GROUP BY ROLLUP (shop, note)"),
    Shape("union", "SELECT shop FROM sales UNION ALL SELECT shop FROM shops UNION ALL SELECT shop FROM visits"),
    Shape("union_distinct", "SELECT shop FROM sales UNION SELECT shop FROM shops EXCEPT SELECT shop FROM visits"),
    Shape("explode", "SELECT shop, tag FROM shops LATERAL VIEW OUTER explode(tags) t AS tag WHERE shop > 2"),
    Shape("explode_filtered", "SELECT shop, pos, tag FROM shops LATERAL VIEW posexplode(tags) t AS pos, tag"),
    Shape("top", "SELECT * FROM sales ORDER BY amount DESC, id LIMIT 5"),
    Shape("limit", "SELECT * FROM sales LIMIT 5"),
    Shape("limit_offset", "SELECT * FROM (SELECT * FROM sales LIMIT 7 OFFSET 2) WHERE shop > 1"),
    Shape("top_offset", "SELECT * FROM sales ORDER BY id LIMIT 7 OFFSET 2"),
    Shape("sorted", "SELECT * FROM sales WHERE note IS NULL OR shop IN (1, 2, 3) ORDER BY note, id DESC"),
    # sub-queries
    Shape(
        "scalar",
        "SELECT id, amount - (SELECT avg(amount) FROM sales) FROM sales WHERE shop > (SELECT min(shop) FROM shops)",
    ),
    Shape(
        "scalar_nested",
        "SELECT * FROM sales "
        "WHERE amount > (SELECT avg(visitors) FROM visits WHERE day > (SELECT min(shop) FROM shops))",
    ),
    Shape(
        "scalar_reused",
        "SELECT (SELECT max(shop) FROM shops) m, id FROM sales WHERE shop < (SELECT max(shop) FROM shops)",
    ),
    Shape(
        "scalar_merged",
        "SELECT (SELECT max(id) FROM sales), (SELECT min(amount) FROM sales), (SELECT count(note) FROM sales)",
    ),
    Shape(
        "in_correlated",
        "SELECT * FROM sales s WHERE amount > (SELECT avg(visitors) FROM visits v WHERE v.shop = s.shop)",
    ),
    Shape(
        "partition_scalar",
        "SELECT * FROM visits WHERE day = (SELECT max(shop) FROM shops WHERE city = 'c1') AND visitors > 3",
    ),
    # reuse
    Shape(
        "reused_exchange",
        "WITH t AS (SELECT shop, sum(amount) s FROM sales GROUP BY shop) "
        "SELECT * FROM t a JOIN t b ON a.shop = b.shop AND a.s > b.s",
        NO_BROADCAST,
    ),
    Shape("reused_broadcast", "SELECT * FROM sales a JOIN shops b USING (shop) JOIN shops c USING (shop)"),
    Shape(
        "reused_twice",
        "WITH t AS (SELECT shop, count(1) n FROM sales GROUP BY shop) "
        "SELECT * FROM t UNION ALL SELECT * FROM t UNION ALL SELECT * FROM t",
    ),
    # dynamic partition pruning
    Shape("pruned", "SELECT * FROM visits v JOIN shops p ON v.day = p.shop WHERE p.city = 'c2'"),
    Shape(
        "pruned_twice",
        "SELECT * FROM visits v JOIN shops p ON v.day = p.shop JOIN sales s ON s.id = v.day "
        "WHERE p.city = 'c2' AND s.note = 'n7'",
    ),
    Shape(
        "pruned_union",
        "SELECT * FROM (SELECT day, visitors FROM visits UNION ALL SELECT day, shop FROM visits) v "
        "JOIN shops p ON v.day = p.shop WHERE p.city = 'c2'",
    ),
    # leaves
    Shape("range", "SELECT id * 2 FROM range(0, 100, 1, 3) WHERE id > 7"),
    Shape("values", "SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t(shop, label) WHERE shop > rand(7)"),
    Shape("one_row", "SELECT 1 + rand(7) AS one"),
    Shape("empty", "SELECT * FROM sales WHERE 1 = 0"),
    Shape("empty_at_run_time", "SELECT * FROM sales a JOIN shops b USING (shop) WHERE b.city = 'no' AND a.amount > 1"),
    Shape("local_rows", _local_rows),
    Shape("rdd_rows", _rdd_rows),
    Shape("command", "SHOW TABLES"),
    Shape("command_of_a_plan", "EXPLAIN SELECT * FROM sales"),
    # caches, Python, metrics, sampling
    Shape("cached", _cached),
    Shape("cached_frame", _cached_frame),
    Shape("row_wise_udf", _row_wise_udf, runs=False),
    Shape("arrow_udf", _arrow_udf, runs=False),
    Shape("grouped_map", _grouped_map, runs=False),
    Shape("observed", _observed),
    Shape("sampled", _sampled),
    # without adaptive execution
    Shape("static_join", "SELECT city, count(1) FROM sales JOIN shops USING (shop) GROUP BY city", STATIC),
    Shape("static_pruned", "SELECT * FROM visits v JOIN shops p ON v.day = p.shop WHERE p.city = 'c2'", STATIC),
    Shape(
        "static_scalar_reused",
        "SELECT (SELECT max(shop) FROM shops) m, id FROM sales WHERE shop < (SELECT max(shop) FROM shops)",
        STATIC,
    ),
    Shape("static_reused", "SELECT * FROM sales a JOIN shops b USING (shop) JOIN shops c USING (shop)", STATIC),
    # literals that look like the text of a plan
    Shape("trap_brand", TRAPS.format("Brand#45 (3) +- Filter (3)")),
    Shape("trap_newline", TRAPS.format("a\n(3) Filter\n+- Scan (1)\n:- b")),
    Shape("trap_sections", TRAPS.format("\n===== Subqueries =====\n\nSubquery:1 Hosting operator id = 1\n")),
    Shape("trap_fields", TRAPS.format("x\nOutput [1]: [y]\nCondition : z, PushedFilters: [w], Batched: false")),
    Shape("trap_brackets", TRAPS.format("]), (, [ PartitionFilters: [ Inner BuildLeft SinglePartition")),
)
