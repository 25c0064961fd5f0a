"""The place of every row, told by the execution itself: no second run to see whether ORDER BY was kept."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from planopt_assets.engine.workspace import Workspace
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.trial import Digest
from planopt_assets.model.workload import Query
from planopt_tests.conftest import make_tables, workload_of

pytestmark = pytest.mark.spark

UP = Query("up", sql="SELECT shop, sum(amount) AS total FROM sales GROUP BY shop ORDER BY shop")
DOWN = Query("down", sql="SELECT shop, sum(amount) AS total FROM sales GROUP BY shop ORDER BY shop DESC")
FEWER = Policy.of({"spark.sql.shuffle.partitions": "2"})


@pytest.fixture(scope="module")
def workspace(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(workload_of(make_tables(tmp_path_factory.mktemp("order")), [UP, DOWN]))


def digest(workspace: Workspace, query: Query, policy: Policy = ORIGINAL, *, in_order: bool = True) -> Digest:
    done = workspace.execute(query, 0, workspace.arm(policy), timeout_s=60, in_order=in_order)
    assert done.digest is not None
    assert done.counters.result_rows == done.digest.rows == 17
    return done.digest


def test_however_the_result_is_partitioned_the_sequence_is_the_same(workspace: Workspace) -> None:
    assert digest(workspace, UP) == digest(workspace, UP, FEWER)


def test_the_same_rows_in_another_order_are_another_sequence(workspace: Workspace) -> None:
    up, down = digest(workspace, UP), digest(workspace, DOWN)
    assert (up.exact, up.bits) == (down.exact, down.bits)
    assert up.sequence != down.sequence


def test_asked_or_not_the_rest_of_the_digest_is_the_same(workspace: Workspace) -> None:
    asked, plain = digest(workspace, UP), digest(workspace, UP, in_order=False)
    assert plain.sequence is None
    assert (asked.rows, asked.exact, asked.bits, asked.floats) == (plain.rows, plain.exact, plain.bits, plain.floats)
