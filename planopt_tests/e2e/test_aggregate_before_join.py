"""Many rows for few keys, joined and then counted: they are grouped first.

`visits` has 200,000 rows of 400 members, in 2 files. `members` has 500 rows. Nothing is broadcast, as if both were
large.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from planopt_assets.engine.user_job.policy_session import PolicySession
from planopt_assets.errors import PolicyNotApplied
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Query
from planopt_tests.e2e.one_rule import RUNS_PER_DAY, Tried, try_rule, write_table

pytestmark = pytest.mark.e2e

MEMBERS, VISITS = 500, 200_000
ANY = "spark.sql.parquet.filterPushdown"  # a rewrite is no knob; this keeps the knobs of other rules out
NO_BROADCAST = {"spark.sql.autoBroadcastJoinThreshold": "-1"}


def grouped(aggregates: str, *, where: str = "") -> str:
    return f"SELECT id, {aggregates} FROM members LEFT JOIN visits ON id = member AND page > 10 {where} GROUP BY id"


QUERIES = [
    Query(
        "few_keys",
        sql=grouped("count(page) AS n, count(*) AS m, max(page) AS last, sum(paid) AS paid", where="WHERE id <> :one"),
        bindings=((("one", 7),),),
        runs_per_day=RUNS_PER_DAY,
    ),
    # The members are as many as their visits.
    Query(
        "many_keys",
        sql="SELECT v.member, count(w.page) AS n FROM visits v LEFT JOIN visits w ON v.page = w.page GROUP BY v.member",
        runs_per_day=RUNS_PER_DAY,
    ),
    # A sum of doubles depends on the order of its rows.
    Query("doubles", sql=grouped("count(page) AS n, sum(score) AS s"), runs_per_day=RUNS_PER_DAY),
]


@pytest.fixture(scope="module")
def tried(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    folder, draw = tmp_path_factory.mktemp("groups"), np.random.default_rng(7)
    members = np.append(draw.integers(0, 400, VISITS - 9), np.full(9, 900))  # some are no members
    visits = {
        "member": pa.array(members, mask=draw.random(VISITS) < 0.01),
        "page": pa.array(np.arange(VISITS), mask=draw.random(VISITS) < 0.1),
        "paid": pa.array(draw.integers(0, 1000, VISITS).astype("int32")).cast(pa.decimal128(15, 2)),
        "score": pa.array(draw.random(VISITS)),
    }
    write_table(folder, "members", {"id": pa.array(np.arange(MEMBERS))})
    write_table(folder, "visits", visits, files=2)
    return try_rule(folder, "aggregate_before_join", QUERIES, allow=(ANY,), settings=NO_BROADCAST)


def test_the_rewrite_is_proposed_for_many_rows_of_few_keys(tried: Tried) -> None:
    assert tried.proposed("few_keys") == Policy.of(rewrites=["aggregate_before_join"])
    assert " rows of visits are joined and then grouped; they have " in tried.decision("few_keys")["reason"]


def test_it_is_accepted_with_equal_results_and_the_join_gets_one_row_a_key(tried: Tried) -> None:
    tried.accepted("few_keys")
    (candidate,) = tried.rows("candidate_plans", "few_keys")
    assert candidate["took_effect"] == ["aggregate_before_join"]
    before, after = tried.counter("few_keys", "shuffle_write_rows")
    assert min(before) > VISITS / 2
    assert max(after) < 5 * MEMBERS


def test_in_a_users_session_the_types_of_that_session_count(tried: Tried, spark: SparkSession) -> None:
    query, policy, session = tried.workload.query("few_keys"), tried.proposed("few_keys"), spark.newSession()
    assert query.sql is not None
    frames = [PolicySession(session, p, tried.workload.tables).sql(query.sql, {"one": 7}) for p in (ORIGINAL, policy)]
    before, after = (sorted(frame.collect()) for frame in frames)
    assert before == after
    plans = [frame._jdf.queryExecution().optimizedPlan().toString().count("Aggregate") for frame in frames]
    assert plans == [1, 2]
    (visits,) = [t for t in tried.workload.tables if t.name == "visits"]
    doubles = session.read.format("delta").load(visits.path).selectExpr("member", "page", "CAST(paid AS DOUBLE) paid")
    doubles.createOrReplaceTempView("visits")
    with pytest.raises(PolicyNotApplied, match="aggregate_before_join leaves the text as it is"):
        PolicySession(session, policy, tried.workload.tables).sql(query.sql, {"one": 7})


def test_where_keys_are_many_or_a_sum_depends_on_order_nothing_is_proposed(tried: Tried) -> None:
    assert "grouping them first costs more" in tried.left_alone("many_keys")
    assert tried.left_alone("doubles") == "no input of a join is used through aggregates only"
