"""A row-wise Python function in a session that switched Arrow off: every row is pickled by itself.

`sales` has 50,000 dates as text. A function that returns a date gives the same values either way, and may be moved. One
that returns a text may not: Arrow casts where pickling gives NULL.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from planopt_assets.decide.rules.arrow_python_udf import COLUMNS, KNOB
from planopt_assets.model.plan import Plan, PlanNode
from planopt_assets.model.policy import Policy
from planopt_assets.model.workload import Query
from planopt_tests.e2e.one_rule import RUNS_PER_DAY, Tried, try_rule, write_table

pytestmark = pytest.mark.e2e

ROWS = 50_000
MODULE = """
import datetime
from pyspark.sql import functions as F

@F.udf("date")
def day(text):
    return datetime.date.fromisoformat(text)

@F.udf("string")
def month(text):
    return text[:7]

def days(spark):
    return spark.table("sales").select(day("sold").alias("day"))

def months(spark):
    return spark.table("sales").select(month("sold").alias("month"))
"""
QUERIES = [
    Query("days", python="queries:days", runs_per_day=RUNS_PER_DAY),
    Query("months", python="queries:months", runs_per_day=RUNS_PER_DAY),
]


@pytest.fixture(scope="module")
def tried(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    folder = tmp_path_factory.mktemp("arrow")
    write_table(folder, "sales", {"sold": pa.array([f"2024-01-{i % 28 + 1:02d}" for i in range(ROWS)])})
    (folder / "queries.py").write_text(MODULE)
    allow, off = (KNOB, COLUMNS), {KNOB: "false"}
    return try_rule(folder, "arrow_python_udf", QUERIES, allow=allow, settings=off, allow_python=True)


def python_operator(plan: Plan) -> PlanNode:
    (found,) = [node for node in plan.nodes if node.kind.endswith("EvalPython")]
    return found


def test_arrow_is_proposed_for_a_function_whose_type_is_never_cast(tried: Tried) -> None:
    assert tried.proposed("days") == Policy.of({KNOB: "true", COLUMNS: "false"})


def test_it_is_accepted_with_equal_results_and_less_data_sent_to_python(tried: Tried) -> None:
    """No counter of a stage knows what goes to Python; the operator does."""
    tried.accepted("days")
    before, after = map(python_operator, tried.ran("days"))
    assert (before.kind, after.kind) == ("BatchEvalPython", "ArrowEvalPython")
    sent = [node.metric("data sent to Python workers") for node in (before, after)]
    assert ROWS * len("2024-01-01") < sent[1] < sent[0]


def test_where_the_type_could_be_cast_nothing_is_proposed(tried: Tried) -> None:
    assert "month returns string: Arrow could cast" in tried.left_alone("months")
