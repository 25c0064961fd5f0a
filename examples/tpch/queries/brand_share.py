"""Which brands carry a shipping mode: a query written with the DataFrame API."""

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F


def build(spark: SparkSession) -> DataFrame:
    """Revenue of each brand per ship mode, with its rank inside the mode."""
    net = F.col("l_extendedprice") * (1 - F.col("l_discount"))
    revenue = (
        spark.table("lineitem")
        .join(spark.table("part"), F.col("p_partkey") == F.col("l_partkey"))
        .groupBy("l_shipmode", "p_brand")
        .agg(F.sum(net).alias("revenue"), F.countDistinct("l_suppkey").alias("suppliers"))
    )
    by_mode = Window.partitionBy("l_shipmode").orderBy(F.desc("revenue"), "p_brand")
    return revenue.withColumn("place", F.row_number().over(by_mode))
