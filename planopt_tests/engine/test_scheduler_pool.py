"""What planopt runs in Spark runs in the pool of the workload: trials, and questions to the executors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from planopt_assets.engine.execution.bounded import bounded
from planopt_assets.engine.sessions import scheduler_pool
from planopt_assets.engine.sessions.ask_executors import ask_executors
from planopt_assets.engine.sessions.scheduler_pool import POOL

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(params=["night", None])
def pool(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """As if the session had been started with it: the suite's own has none."""
    monkeypatch.setattr(scheduler_pool, "started_with", lambda context, name: request.param if name == POOL else None)
    named: str | None = request.param
    return named


def pools_of(spark: SparkSession, group: str) -> set[str]:
    """In which pools the stages of a job group ran, as Spark tells it."""
    scala: Any = spark.sparkContext._jsc.sc()
    scala.listenerBus().waitUntilEmpty()
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [stage for job in jobs if job is not None for stage in job.stageIds]
    return {str(scala.statusStore().lastStageAttempt(stage).schedulingPool()) for stage in stages}


def test_an_execution_runs_in_the_pool(spark: SparkSession, pool: str | None) -> None:
    context, group = spark.sparkContext, f"an execution in {pool}"

    def work(_: object) -> tuple[str | None, int]:
        context.setJobGroup(group, group)
        return context.getLocalProperty(POOL), context.parallelize([1, 2], 2).count()

    assert bounded(context, work, tag="q", timeout_s=600) == (pool, 2)
    assert pools_of(spark, group) == {pool or "default"}
    assert context.getLocalProperty(POOL) is None  # of the thread that asked


@pytest.mark.parametrize("before", ["mine", None], ids=["in a pool", "in none"])
def test_executors_are_asked_in_the_pool_and_the_thread_keeps_its_own(
    spark: SparkSession, pool: str | None, before: str | None
) -> None:
    context, group = spark.sparkContext, f"a question in {pool} from {before}"

    def question() -> int:
        return 7

    try:
        context.setJobGroup(group, group)
        context.setLocalProperty(POOL, before)  # type: ignore[arg-type]  # None takes it away
        assert ask_executors(spark, question).found == [7]
        assert context.getLocalProperty(POOL) == before
    finally:
        context.setLocalProperty(POOL, None)  # type: ignore[arg-type]
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
    assert pools_of(spark, group) == {pool or "default"}
