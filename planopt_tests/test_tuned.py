"""A user's own job under the policy in force: right results, whole policies, nothing leaks, and a record of the run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from planopt_assets import production_log, tuned
from planopt_assets.engine.user_session import MARKER
from planopt_assets.errors import NothingToRun, UnknownQuery
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Query, Workload
from planopt_assets.run import read_standings
from planopt_assets.store.lineage import tree
from planopt_assets.store.reader import StoreReader
from planopt_tests.conftest import workload_of
from planopt_tests.promoted import chain, promote_by_hand

pytestmark = pytest.mark.spark

BY_SHOP = "SELECT shop, count(*) AS n FROM sales GROUP BY shop"
CITIES = "SELECT p.city, count(*) AS n FROM sales s JOIN shops p ON s.shop = p.shop GROUP BY p.city"
THREE = Policy.of({"spark.sql.shuffle.partitions": "3"})
SPLITS = Policy.of({"spark.sql.files.openCostInBytes": "1", "spark.sql.files.minPartitionNum": "1"})
ARROW_ON = Policy.of({"spark.sql.execution.pythonUDF.arrow.enabled": "true"})
MERGED = Policy(hints=("merge(join0.right p)",))
BUILDS = """
from pathlib import Path

def build(spark, least):
    with (Path(__file__).parent / "calls").open("a") as calls:
        calls.write(spark.conf.get("spark.sql.shuffle.partitions"))
    return spark.table("sales").where(f"shop >= {least}").groupBy("shop").count()
"""


@pytest.fixture
def workload(spark: SparkSession, tables: Path) -> Workload:
    (tables / "jobs.py").write_text(BUILDS)
    queries = [
        Query("by_shop", sql=BY_SHOP),
        Query("cities", sql=CITIES),
        Query("one_shop", sql="SELECT count(*) AS n FROM sales WHERE shop = :shop", bindings=((("shop", 3),),)),
        Query("built", python="jobs:build", bindings=((("least", 5),),)),
    ]
    return workload_of(tables, queries, allow_python=True)


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """The user's own session: with a view, a function and a setting that nobody else knows."""
    made = spark.newSession()
    made.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    made.udf.register("twice", lambda n: n * 2, "long")
    made.sql("SELECT 1").collect()  # Delta sets up a session when it is first used
    yield made
    production_log._OPEN.clear()


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())  # type: ignore[operator]


def splits_of(frame: DataFrame) -> int:
    plan: Any = frame._jdf.queryExecution().executedPlan()  # type: ignore[operator]
    plan = plan.initialPlan() if plan.nodeName() == "AdaptiveSparkPlan" else plan
    return int(plan.collectLeaves().head().inputRDD().getNumPartitions())


def production(workload: Workload) -> list[dict[str, Any]]:
    rows = StoreReader(workload.store, workload.name).rows("runtime_counters")
    return [r for r in rows if r["purpose"] == "production"]


def counts(frame: DataFrame) -> dict[Any, int]:
    return {row[0]: row[1] for row in frame.collect()}


# Before and after a promotion


def test_without_a_promotion_the_query_runs_as_original_and_is_recorded(
    session: SparkSession, workload: Workload
) -> None:
    with tuned(session, "by_shop", workload) as query:
        found = counts(query.sql())
    assert len(found) == 17
    assert sum(found.values()) == 1800
    assert (query.policy, query.generation, query.reason) == (ORIGINAL, 0, "no policy has been promoted yet")
    (row,) = production(workload)
    assert (row["query_id"], row["policy_id"], row["action"], row["status"]) == ("by_shop", ORIGINAL.id, "frame", "ok")
    assert row["execution_id"].startswith("exe-")


def test_a_promoted_policy_holds_while_the_frame_is_planned_and_run(
    session: SparkSession, workload: Workload, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "planopt")
    promote_by_hand(workload.store, *chain("by_shop", THREE))
    with tuned(session, "by_shop", workload) as query:
        frame = query.sql()
        assert "hashpartitioning(shop#" in plan_of(frame)
        assert ", 3), ENSURE_REQUIREMENTS" in plan_of(frame)
        assert sum(counts(frame).values()) == 1800
    assert query.facts() == {
        "query": "by_shop",
        "generation": 1,
        "policy_id": THREE.id,
        "policy": "shuffle.partitions=3",
        "applied": True,
        "reason": "",
    }
    assert [r.getMessage() for r in caplog.records] == ["by_shop runs under generation 1: shuffle.partitions=3"]
    (row,) = production(workload)
    assert (row["policy_id"], row["note"]) == (THREE.id, None)
    node = tree(StoreReader(workload.store, workload.name), row["execution_id"])
    assert [p.id for p in node.parents] == ["pro-by_shop-g1"]


def test_the_record_has_the_counters_of_exactly_this_run(session: SparkSession, workload: Workload) -> None:
    with tuned(session, "by_shop", workload) as query:
        session.sql("SELECT 1").collect()
        frame = query.sql()
        frame.collect()
        session.range(100_000).groupBy((F.col("id") % 7).alias("k")).count().collect()
    (row,) = production(workload)
    assert (row["input_rows"], row["scan_files"]) == (1800, 6)
    assert row["shuffle_write_rows"] > 0
    assert row["scan_bytes"] > 0
    assert 0 < row["planning_wall_ns"] <= row["wall_ns"]
    assert row["executor_cpu_ns"] > 0
    assert [row[name] for name in ("cpu_ns", "planning_cpu_ns", "result_rows", "table_bytes")] == [None] * 4


def test_the_loop_does_not_take_a_production_run_for_an_observation(session: SparkSession, workload: Workload) -> None:
    with tuned(session, "by_shop", workload) as query:
        query.sql().collect()
    assert not read_standings(workload)["by_shop"].observed


# What the copy of the session is


def test_nothing_leaks_into_the_users_session(session: SparkSession, workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("by_shop", THREE))
    active = SparkSession.getActiveSession()
    before = session.conf.getAll
    with tuned(session, "by_shop", workload) as query:
        query.sql().collect()
    assert session.conf.getAll == before
    assert session.conf.get("spark.sql.shuffle.partitions") == "200"
    assert session.conf.get(MARKER, None) is None
    assert not session.catalog.tableExists("sales")  # planopt named it in its copy
    assert SparkSession.getActiveSession() is active
    made = session.sparkContext.parallelize([(1,)]).toDF(["x"])
    assert made.sparkSession.conf.get(MARKER, None) is None


def test_the_copy_has_the_users_settings_views_and_functions(session: SparkSession, workload: Workload) -> None:
    session.createDataFrame([(1, 7)], "shop bigint, id bigint").createOrReplaceTempView("sales")
    promote_by_hand(workload.store, *chain("by_shop", THREE))
    query = tuned(session, "by_shop", workload)
    assert counts(query.sql()) == {1: 1}  # the user's view, not the table of the workload
    job = query.run(lambda copy: copy.sql("SELECT current_timezone() AS tz, twice(21) AS n").first())
    assert (job.tz, job.n) == ("Asia/Tokyo", 42)


def test_two_queries_have_each_their_own_policy_at_the_same_time(session: SparkSession, workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("by_shop", THREE))
    promote_by_hand(workload.store, *chain("cities", Policy.of({"spark.sql.shuffle.partitions": "5"})))
    one, other = tuned(session, "by_shop", workload).sql(), tuned(session, "cities", workload).sql()
    assert ", 3), ENSURE" in plan_of(one)
    assert ", 5), ENSURE" in plan_of(other)


# Texts


def test_another_spelling_gets_the_policy_and_another_query_does_not(
    session: SparkSession, workload: Workload, caplog: pytest.LogCaptureFixture
) -> None:
    promote_by_hand(workload.store, *chain("by_shop", THREE))
    with tuned(session, "by_shop", workload) as query:
        assert ", 3), ENSURE" in plan_of(query.sql("select s.shop, count(*) as n from sales s group by s.shop"))
        assert query.reason == ""
        session.createDataFrame([(n,) for n in range(9)], "shop bigint").createOrReplaceTempView("sales")
        other = query.sql("SELECT shop, min(shop) AS n FROM sales GROUP BY shop")
        assert ", 200), ENSURE" in plan_of(other)
        other.collect()
    assert query.reason == "the text is another query than the declared one"
    assert "does not run under generation 1: the text is another query" in caplog.text
    assert production(workload) == []


def test_parameters_are_the_declared_ones_unless_given(session: SparkSession, workload: Workload) -> None:
    with tuned(session, "one_shop", workload) as query:
        declared, given = query.sql().first(), query.sql(args={"shop": 99}).first()
    assert (declared.n, given.n) == (106, 0)
    assert sorted((r["binding"] is None, r["binding"]) for r in production(workload)) == [(False, 0), (True, None)]


def test_the_users_own_mistake_is_the_users_own_error(session: SparkSession, workload: Workload) -> None:
    from pyspark.errors import AnalysisException

    broken = replace(workload, queries=(Query("broken", sql="SELECT nowhere FROM sales"),))
    promote_by_hand(workload.store, *chain("broken", THREE))
    with pytest.raises(AnalysisException):
        tuned(session, "broken", broken).sql()


def test_a_failed_run_is_recorded_as_failed(session: SparkSession, workload: Workload) -> None:
    from pyspark.errors import PySparkException

    text = "SELECT raise_error('no such luck') AS e FROM sales"
    failing = replace(workload, queries=(Query("failing", sql=text),))
    with pytest.raises(PySparkException, match="no such luck"), tuned(session, "failing", failing) as query:
        query.sql().collect()
    (row,) = production(workload)
    assert row["status"] == "failed"
    assert "no such luck" in row["note"]


# Policies that cannot be applied


def test_a_setting_this_spark_does_not_know_means_original(session: SparkSession, workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("by_shop", Policy.of({"spark.sql.no.such.setting": "1"})))
    with tuned(session, "by_shop", workload) as query:
        assert sum(counts(query.sql()).values()) == 1800
    assert "PLN-209" in query.reason
    (row,) = production(workload)
    assert row["policy_id"] == ORIGINAL.id
    assert "'spark.sql.no.such.setting' is no session setting" in row["note"]


def test_a_hint_that_finds_its_join_is_in_the_plan(session: SparkSession, workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("cities", MERGED))
    with tuned(session, "cities", workload) as query:
        frame = query.sql()
        assert "SortMergeJoin" in plan_of(frame)
        assert sum(counts(frame).values()) == 1800
    assert production(workload)[0]["policy_id"] == MERGED.id


def test_a_hint_without_its_join_means_original(session: SparkSession, workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("by_shop", Policy(THREE.settings, hints=("merge(join4.left)",))))
    query = tuned(session, "by_shop", workload)
    assert ", 200), ENSURE" in plan_of(query.sql())
    assert "hint not applied" in query.reason


def test_scan_settings_reach_tables_views_of_tables_and_nothing_else(session: SparkSession, workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("by_shop", SPLITS))
    path = workload.tables[0].path
    query = tuned(session, "by_shop", workload)
    assert splits_of(query.sql()) == 1
    session.read.format("delta").load(str(path)).createOrReplaceTempView("sales")
    assert splits_of(session.table("sales")) > 1
    assert splits_of(query.sql()) == 1  # made anew in the copy: it is the workload's table
    session.read.format("delta").load(str(path)).where("shop >= 0").createOrReplaceTempView("sales")
    assert splits_of(query.sql()) > 1
    assert "cannot reach a scan that was made before" in query.reason


# Frames and jobs


def test_a_frame_of_the_users_is_planned_under_the_policy(session: SparkSession, workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("built", THREE))
    mine = session.read.format("delta").load(str(workload.tables[0].path)).groupBy("shop").count()
    with tuned(session, "built", workload) as query:
        frame = query.frame(mine)
        assert ", 3), ENSURE" in plan_of(frame)
        assert counts(frame) == counts(mine)
    assert [r["policy_id"] for r in production(workload)] == [THREE.id]


def test_a_frame_that_exists_cannot_get_other_scan_settings(session: SparkSession, workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("built", SPLITS))
    query = tuned(session, "built", workload)
    mine = session.read.format("delta").load(str(workload.tables[0].path))
    assert counts(query.frame(mine.groupBy("shop").count())) == counts(mine.groupBy("shop").count())
    assert "cannot reach a scan that was made before" in query.reason
    path = str(workload.tables[0].path)
    assert splits_of(query.run(lambda copy: copy.read.format("delta").load(path))) == 1
    assert query.reason == ""


def test_the_workloads_own_python_query_runs_with_its_parameters(session: SparkSession, workload: Workload) -> None:
    session.read.format("delta").load(str(workload.tables[0].path)).createOrReplaceTempView("sales")
    promote_by_hand(workload.store, *chain("built", THREE))
    with tuned(session, "built", workload) as query:
        frame = query.run()
        assert ", 3), ENSURE" in plan_of(frame)
        assert len(counts(frame)) == 12
    assert [(r["action"], r["binding"]) for r in production(workload)] == [("frame", 0)]


def test_how_rows_travel_to_python_reaches_functions_made_under_the_policy_only(
    session: SparkSession, workload: Workload
) -> None:
    promote_by_hand(workload.store, *chain("built", ARROW_ON))
    promote_by_hand(workload.store, *chain("by_shop", ARROW_ON))
    session.read.format("delta").load(str(workload.tables[0].path)).createOrReplaceTempView("sales")
    built, by_shop = tuned(session, "built", workload), tuned(session, "by_shop", workload)
    assert len(counts(built.run())) == 12
    assert built.reason == ""
    for frame in (by_shop.sql(), by_shop.frame(session.table("sales")), by_shop.run(lambda copy: copy.table("sales"))):
        assert frame.count() > 0
        assert "cannot reach a Python function that was made before" in by_shop.reason


def counting_job(path: str, given: list[str | None]) -> Callable[[SparkSession], DataFrame]:
    """Cities with their sales; each call leaves a trace, as the side effect of a real job would."""

    def job(copy: SparkSession) -> DataFrame:
        given.append(copy.conf.get("spark.sql.shuffle.partitions"))
        sales, shops = (copy.read.format("delta").load(f"{path}/{name}") for name in ("sales", "shops"))
        return sales.alias("s").join(shops.alias("p"), F.col("s.shop") == F.col("p.shop")).groupBy("city").count()

    return job


def test_a_job_is_called_once_and_its_frame_gets_hints_and_settings(session: SparkSession, workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("cities", Policy(THREE.settings, hints=MERGED.hints)))
    given: list[str | None] = []
    with tuned(session, "cities", workload) as query:
        frame = query.run(counting_job(str(Path(str(workload.tables[0].path)).parent), given))
        assert "SortMergeJoin" in plan_of(frame)
        assert ", 3), ENSURE" in plan_of(frame)
        assert sum(counts(frame).values()) == 1800
    assert given == ["200"]  # a job may run actions, which hints do not reach: it is called as original
    assert query.reason == ""
    assert [r["policy_id"] for r in production(workload)] == [query.policy.id]


def test_a_job_whose_frame_cannot_carry_the_hint_runs_as_original_and_is_called_once(
    session: SparkSession, workload: Workload
) -> None:
    promote_by_hand(workload.store, *chain("cities", Policy(THREE.settings, hints=("merge(join4.left)",))))
    given: list[str | None] = []
    with tuned(session, "cities", workload) as query:
        frame = query.run(counting_job(str(Path(str(workload.tables[0].path)).parent), given))
        assert ", 200), ENSURE" in plan_of(frame)
        assert sum(counts(frame).values()) == 1800
    assert given == ["200"]
    assert query.policy == ORIGINAL
    (row,) = production(workload)
    assert row["policy_id"] == ORIGINAL.id
    assert "hint not applied" in row["note"]


def test_a_declared_query_that_cannot_carry_the_hint_keeps_nothing_of_the_policy(
    session: SparkSession, workload: Workload, tables: Path
) -> None:
    settings = {**dict(THREE.settings), **dict(SPLITS.settings)}
    promote_by_hand(workload.store, *chain("built", Policy(Policy.of(settings).settings, hints=("merge(join4.left)",))))
    session.read.format("delta").load(str(workload.tables[0].path)).createOrReplaceTempView("sales")
    with tuned(session, "built", workload) as query:
        frame = query.run()
        assert ", 200), ENSURE" in plan_of(frame)
        assert splits_of(frame) == splits_of(session.table("sales")) > 1
        assert len(counts(frame)) == 12
    assert (tables / "calls").read_text() == "3"  # once, under the policy: a declared query only builds
    assert query.policy == ORIGINAL
    assert "hint not applied" in query.reason
    assert [(r["policy_id"], r["action"]) for r in production(workload)] == [(ORIGINAL.id, "frame")]


def test_a_job_that_runs_by_itself_gets_no_half_of_a_policy_with_hints(
    session: SparkSession, workload: Workload
) -> None:
    promote_by_hand(workload.store, *chain("cities", Policy(THREE.settings, hints=MERGED.hints)))
    query = tuned(session, "cities", workload)
    given: list[str | None] = []
    job = counting_job(str(Path(str(workload.tables[0].path)).parent), given)
    assert len(query.run(lambda copy: job(copy).collect())) > 0
    assert given == ["200"]
    assert "hints need a frame to go into" in query.reason
    assert [r["policy_id"] for r in production(workload)] == [ORIGINAL.id]


def test_what_a_job_sets_itself_stays_and_the_policy_is_not_applied(session: SparkSession, workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("by_shop", THREE))
    path = str(workload.tables[0].path)

    def job(copy: SparkSession) -> DataFrame:
        copy.conf.set("spark.sql.shuffle.partitions", "7")
        return copy.read.format("delta").load(path).groupBy("shop").count()

    query = tuned(session, "by_shop", workload)
    assert ", 7), ENSURE" in plan_of(query.run(job))
    assert "the job sets spark.sql.shuffle.partitions itself" in query.reason


def test_a_frame_from_another_session_than_the_one_given_still_gets_the_policy(
    session: SparkSession, workload: Workload
) -> None:
    promote_by_hand(workload.store, *chain("by_shop", THREE))
    mine = session.read.format("delta").load(str(workload.tables[0].path)).groupBy("shop").count()
    with tuned(session, "by_shop", workload) as query:
        frame = query.run(lambda copy: mine)
        assert ", 3), ENSURE" in plan_of(frame)
        assert counts(frame) == counts(mine)
    assert [r["policy_id"] for r in production(workload)] == [THREE.id]


def test_a_job_that_writes_is_recorded_when_it_ends(session: SparkSession, workload: Workload, tmp_path: Path) -> None:
    promote_by_hand(workload.store, *chain("by_shop", THREE))
    query = tuned(session, "by_shop", workload)
    source, target = str(workload.tables[0].path), str(tmp_path / "out")

    def job(copy: SparkSession) -> str:
        copy.read.format("delta").load(source).groupBy("shop").count().write.format("delta").save(target)
        return target

    assert query.run(job) == target
    (row,) = production(workload)
    assert (row["action"], row["policy_id"], row["scan_files"]) == ("write", THREE.id, None)
    assert row["input_rows"] == 1800


def test_the_error_of_a_job_is_the_users_own_and_it_runs_once(session: SparkSession, workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("by_shop", THREE))
    called = []

    def job(copy: SparkSession) -> None:
        called.append(copy)
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        tuned(session, "by_shop", workload).run(job)
    assert len(called) == 1


def test_each_action_of_a_block_is_a_row_that_says_what_it_was(
    session: SparkSession, workload: Workload, tmp_path: Path
) -> None:
    with tuned(session, "by_shop", workload) as query:
        frame = query.sql()
        frame.toPandas()
        frame.count()
        frame.write.format("delta").save(str(tmp_path / "out"))
        frame.collect()
    assert [r["action"] for r in sorted(production(workload), key=lambda r: r["execution_id"])] == [
        "frame",
        "other",
        "write",
        "other",
    ]


def test_without_a_block_the_next_query_records_the_one_before(session: SparkSession, workload: Workload) -> None:
    tuned(session, "by_shop", workload).sql().collect()
    assert production(workload) == []
    tuned(session, "cities", workload)
    assert [r["query_id"] for r in production(workload)] == ["by_shop"]


# Nothing of planopt may fail the job


def test_a_broken_chain_means_original_and_is_recorded(
    session: SparkSession, workload: Workload, caplog: pytest.LogCaptureFixture
) -> None:
    promote_by_hand(workload.store, *chain("by_shop", THREE), previous_hash="chn_smuggled")
    with tuned(session, "by_shop", workload) as query:
        frame = query.sql()
        assert ", 200), ENSURE" in plan_of(frame)
        frame.collect()
    assert "PLN-403" in caplog.text
    assert production(workload)[0]["note"].startswith("PLN-403")


def test_without_a_workload_a_given_text_still_runs(
    session: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    query = tuned(session, "by_shop", tmp_path / "nowhere.yaml")
    assert query.sql("SELECT 7 AS n").first().n == 7
    assert "PLN-001" in caplog.text


def test_without_a_text_there_is_nothing_to_run(session: SparkSession, workload: Workload) -> None:
    with pytest.raises(NothingToRun, match="PLN-505"):
        tuned(session, "built", workload).sql()
    with pytest.raises(UnknownQuery, match="PLN-501"):
        tuned(session, "unknown", workload).sql()


def test_where_a_session_cannot_be_copied_the_users_own_is_used(
    session: SparkSession, workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise AttributeError("cloneSession")

    monkeypatch.setattr("planopt_assets.engine.policy_session.copy_of", refuse)
    session.range(3).withColumnRenamed("id", "shop").createOrReplaceTempView("sales")
    promote_by_hand(workload.store, *chain("by_shop", THREE))
    query = tuned(session, "by_shop", workload)
    assert counts(query.sql()) == {0: 1, 1: 1, 2: 1}
    assert query.run(lambda mine: mine is session)
    assert query.reason == "the policy cannot be applied: AttributeError: cloneSession"
