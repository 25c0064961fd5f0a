"""What `decide/runtime_filters.py` believes about Spark: one filter for a join, left input first, by thresholds."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

BLOOM = "spark.sql.optimizer.runtime.bloomFilter"
SMALL, LARGE = 1_000, 100_000  # rows of 8 bytes


@pytest.mark.parametrize(
    ("kind", "left", "right", "application", "creation", "filtered"),
    [
        ("inner", SMALL, LARGE, 0, 10**9, ["left"]),  # either could be filtered: the left one is
        ("left_semi", SMALL, LARGE, 0, 10**9, ["left"]),
        ("inner", SMALL, LARGE, 8 * LARGE, 10**9, ["right"]),  # the left scan is below the threshold
        ("left_semi", SMALL, LARGE, 8 * LARGE, 10**9, ["right"]),
        ("inner", SMALL, LARGE, 0, 8 * SMALL, ["right"]),  # the right input is too large to make one from
        ("inner", SMALL, LARGE, 8 * LARGE + 1, 10**9, []),
        ("left", SMALL, LARGE, 0, 10**9, ["right"]),  # the left input keeps its rows
    ],
)
def test_which_input_of_a_join_spark_filters(
    spark: SparkSession, kind: str, left: int, right: int, application: int, creation: int, filtered: list[str]
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    session.conf.set(f"{BLOOM}.enabled", "true")
    session.conf.set(f"{BLOOM}.applicationSideScanSizeThreshold", str(application))
    session.conf.set(f"{BLOOM}.creationSideThreshold", str(creation))
    # Both have a predicate, so each could filter the other.
    some, others = (
        session.range(rows).selectExpr(f"id AS {name}_key").filter(f"{name}_key % 7 = 3")
        for name, rows in (("left", left), ("right", right))
    )
    joined = some.join(others, some["left_key"] == others["right_key"], kind)
    plan = joined._jdf.queryExecution().optimizedPlan().toString().splitlines()  # type: ignore[operator]
    place, column = next((n, line.index("Join")) for n, line in enumerate(plan) if "Join" in line)
    # Below the join, a bar leads on to its right input.
    sides = {line[column] == ":" for line in plan[place + 1 :] if "might_contain" in line}
    assert ["left" if left else "right" for left in sides] == filtered, plan
