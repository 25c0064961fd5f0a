"""Python functions under the Arrow switch: a policy reaches them, and which declared types can give other results."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from planopt_assets.decide.rules.arrow_python_udf import KNOB, NEVER_CAST
from planopt_assets.engine.workspace import Workspace
from planopt_assets.model.policy import Policy
from planopt_assets.model.workload import Query
from planopt_tests.conftest import workload_of

pytestmark = pytest.mark.spark

MODULE = """
import datetime
from pyspark.sql import functions as F

@F.udf("date")
def day(n):
    return datetime.date(2024, 1, 1) + datetime.timedelta(days=n)

def build(spark):
    return spark.table("shops").select(day("shop").alias("day"))
"""
OFF, ON = Policy.of({KNOB: "false"}), Policy.of({KNOB: "true"})


@pytest.fixture
def workspace(spark, tables: Path) -> Workspace:
    (tables / "days.py").write_text(MODULE)
    return Workspace(workload_of(tables, [Query("days", python="days:build")], allow_python=True))


@pytest.mark.parametrize(("policy", "operator"), [(OFF, "BatchEvalPython"), (ON, "ArrowEvalPython")])
def test_a_policy_decides_how_rows_travel_to_a_function(spark, workspace: Workspace, policy, operator: str) -> None:
    frame = workspace.frame(workspace.workload.queries[0], 0, workspace.arm(policy))
    assert operator in frame._jdf.queryExecution().executedPlan().toString()
    assert SparkSession._instantiatedSession is spark


def test_the_session_of_the_process_is_put_back_when_the_function_cannot_be_built(spark, workspace: Workspace) -> None:
    (Path(workspace.workload.file).parent / "days.py").write_text("raise RuntimeError('no')")
    with pytest.raises(Exception, match="importing"):
        workspace.frame(workspace.workload.queries[0], 0, workspace.arm(OFF))
    assert SparkSession._instantiatedSession is spark


def test_both_ways_give_the_same_rows(workspace: Workspace) -> None:
    query = workspace.workload.queries[0]
    one, two = (workspace.execute(query, 0, workspace.arm(policy), timeout_s=60) for policy in (OFF, ON))
    assert one.digest == two.digest
    assert workspace.frame(query, 0, workspace.baseline).count() == 17


# Which declared types are never cast

VALUES: tuple[Any, ...] = (
    *(True, 1, 0, 1.0, 1.5, 1e20, "1", "x", b"ab", None, [1], (1,)),
    *(datetime.date(2024, 1, 2), datetime.datetime(2024, 1, 2, 3, 4, 5)),  # noqa: DTZ001  # as functions return them
)


@pytest.fixture
def arrow_switch(spark) -> Iterator[Callable[[bool], None]]:
    yield lambda on: spark.conf.set(KNOB, str(on).lower())
    spark.conf.unset(KNOB)


def outcome(spark, returns: str, value: Any) -> str:
    """The value that comes back, or that it fails."""
    from pyspark.errors import PySparkException

    function = F.udf(lambda _: value, returns)
    try:
        return repr(spark.range(1).select(function("id").cast("string")).first()[0])
    except PySparkException:
        return "fails"


@pytest.mark.parametrize("returns", sorted(NEVER_CAST))
def test_a_type_that_is_never_cast_gives_the_same_or_fails(spark, arrow_switch, returns: str) -> None:
    """A value that pickling refuses is of no interest: the query does not run without the policy either."""
    for value in VALUES:
        arrow_switch(False)
        pickled = outcome(spark, returns, value)
        arrow_switch(True)
        assert pickled == "fails" or outcome(spark, returns, value) in (pickled, "fails"), value


@pytest.mark.parametrize(("returns", "value"), [("double", 1), ("int", 1.5), ("boolean", 1), ("string", 1e20)])
def test_a_number_or_text_can_be_cast_to_something_else(spark, arrow_switch, returns: str, value: Any) -> None:
    arrow_switch(False)
    pickled = outcome(spark, returns, value)
    arrow_switch(True)
    assert outcome(spark, returns, value) not in (pickled, "fails")
