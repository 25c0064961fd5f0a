"""Queries that end the JVM they run in, written beside a workload file as users write theirs."""

from __future__ import annotations

PYTHON = """
import os, signal

COUNTED = "SELECT shop, count(*) AS n FROM sales GROUP BY shop"


def kill_spark(spark):
    os.kill(spark.sparkContext._gateway.proc.pid, signal.SIGKILL)


def killed(spark):
    kill_spark(spark)
    return spark.sql(COUNTED)


def killed_under_a_candidate(spark):
    running = spark.sparkContext.getLocalProperty("spark.jobGroup.id")  # planning a candidate sets none
    if running and spark.conf.get("spark.sql.shuffle.partitions") != "200":
        kill_spark(spark)
    return spark.sql(COUNTED)
"""

# One note that is larger than all of `MEMORY`: there is nothing to collect first. The gate does not know the length.
HUNGRY = "SELECT sum(length(repeat(note, 400000000 + int(id % 2)))) AS n FROM sales"
MEMORY = "600m"
# Spark computes it while it plans: the JVM runs out of memory and survives.
HUNGRY_CONSTANT = "SELECT length(repeat('x', length(space(1000)) * 1000000)) AS n"
# Neither a task nor a planning thread looks up from a regular expression that backtracks without end. One row will do.
ENDLESS = (
    "SELECT count(*) AS n FROM sales "
    "WHERE id >= 1799 AND concat(repeat('a', 40 + int(id % 2)), 'b') RLIKE '^(.*a){25}$'"
)
ENDLESS_CONSTANT = "SELECT concat(repeat('a', 40), 'b') RLIKE '^(.*a){25}$' AS m"
