"""A Spark Connect session: its JVM is somewhere else, so the query runs as original, and `tuned` says so.

The server is Spark's own, started in the JVM of the suite; the client talks to it by gRPC as it would over a network.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from planopt_assets import tuned
from planopt_assets.engine.jvm.bridge import Jvm
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.workload import Workload
from planopt_tests.job.user_job import BY_SHOP, THREE, counts, production
from planopt_tests.promoted import chain, promote_by_hand

pytestmark = pytest.mark.spark

WHY = "the policy cannot be applied: a Spark Connect session cannot be copied"


@pytest.fixture(scope="module")
def remote(spark: SparkSession) -> Iterator[Any]:
    from pyspark.sql.connect.session import SparkSession as Remote

    jvm: Any = spark._jvm
    jvm.org.apache.spark.SparkEnv.get().conf().set("spark.connect.grpc.binding.port", "0")
    jvm.org.apache.spark.SparkEnv.get().conf().set("spark.connect.grpc.binding.address", "127.0.0.1")
    service: Any = Jvm(spark).scala_object("org.apache.spark.sql.connect.service.SparkConnectService")
    service.start(spark.sparkContext._jsc.sc())
    client = Remote.builder.remote(f"sc://127.0.0.1:{service.localPort()}").create()
    yield client
    client.client.close()
    service.stop(jvm.scala.Option.empty(), jvm.scala.Option.empty())


@pytest.fixture
def promoted(remote: Any, workload: Workload) -> Workload:
    promote_by_hand(workload.store, *chain("by_shop", THREE))
    promote_by_hand(workload.store, *chain("built", THREE))
    remote.read.format("delta").load(str(workload.tables[0].path)).createOrReplaceTempView("sales")
    return workload


def test_a_declared_text_runs_as_original_and_says_so(
    remote: Any, promoted: Workload, caplog: pytest.LogCaptureFixture
) -> None:
    with tuned(remote, "by_shop", promoted) as query:
        assert sum(counts(query.sql()).values()) == 1800
        assert sum(counts(query.sql(BY_SHOP.lower())).values()) == 1800
    facts = query.facts()
    assert (facts["applied"], facts["reason"], facts["generation"]) == (False, WHY, 1)
    assert query.policy == ORIGINAL
    assert f"by_shop does not run under generation 1: {WHY}" in caplog.text
    assert production(promoted) == []


def test_a_frame_and_a_job_are_left_as_they_are(remote: Any, promoted: Workload) -> None:
    query = tuned(remote, "built", promoted)
    mine = remote.table("sales").groupBy("shop").count()
    assert query.frame(mine) is mine
    assert query.reason == WHY
    assert query.run(lambda session: session is remote)
    assert len(counts(query.run())) == 12  # the workload's own callable
    assert query.reason == WHY
