"""A declared query under the policy in force: right results, whole policies, nothing leaks, and a record of the run."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from delta.tables import DeltaTable
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from planopt_assets import tuned
from planopt_assets.engine.user_job.production import Executions
from planopt_assets.engine.user_job.user_session import MARKER, own_value
from planopt_assets.errors import NothingToRun, UnknownQuery
from planopt_assets.loop.run import read_standings
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Query, Workload
from planopt_assets.store.lineage import tree
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.job.user_job import (
    MERGED,
    SPLITS,
    THREE,
    counts,
    plan_of,
    production,
    splits_of,
)
from planopt_tests.promoted import chain, promote_by_hand

pytestmark = pytest.mark.spark


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
        "control": False,
        "reason": "",
    }
    assert [r.getMessage() for r in caplog.records] == ["by_shop runs under generation 1: shuffle.partitions=3"]
    (row,) = production(workload)
    assert (row["policy_id"], row["note"]) == (THREE.id, None)
    node = tree(Snapshot(workload.store, workload.name), row["execution_id"])
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
    assert row["table_sizes"] == "{}"  # its writer noted no size
    assert (row["cores"], row["control"]) == (session.sparkContext.defaultParallelism, False)


def test_a_write_is_recorded_with_the_sizes_of_what_it_reads(
    session: SparkSession, workload: Workload, tmp_path: Path
) -> None:
    path = str(workload.tables[0].path)
    session.read.format("delta").load(path).write.format("delta").mode("overwrite").save(path)
    with tuned(session, "cities", workload) as query:
        query.sql().write.format("delta").save(str(tmp_path / "out"))
    (row,) = [r for r in production(workload) if r["action"] == "write"]
    noted = DeltaTable.forPath(session, path).detail().first()
    assert noted is not None
    assert json.loads(row["table_sizes"]) == {"sales": noted.sizeInBytes}
    assert row["executor_cpu_ns"] > 0


# Controls


def test_a_control_runs_as_original_and_says_so(
    session: SparkSession, workload: Workload, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "planopt")
    promote_by_hand(workload.store, *chain("by_shop", THREE))
    always = replace(workload, control_share=1.0)
    for _ in range(2):
        with tuned(session, "by_shop", always) as query:
            assert sum(counts(query.sql()).values()) == 1800
        if query.facts()["control"]:
            why = "control run: drawn to run as original, to compare with generation 1"
            assert (query.policy, query.reason) == (ORIGINAL, why)
            assert f"by_shop runs as original: {why}" in caplog.text
    ran = [(r["policy_id"], r["control"], r["note"]) for r in production(workload)]
    assert ran == [(ORIGINAL.id, True, why), (THREE.id, False, None)]  # at most one an hour


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


def test_parameters_reach_a_query_in_a_session_that_delta_breaks_them_in(
    session: SparkSession, workload: Workload
) -> None:
    session.conf.set("spark.sql.legacy.parameterSubstitution.constantsOnly", "false")  # as an ordinary session has it
    session.read.format("delta").load(str(workload.tables[0].path)).createOrReplaceTempView("sales")
    with pytest.raises(AnalysisException, match="UNBOUND_SQL_PARAMETER"):
        session.sql("SELECT count(*) AS n FROM sales WHERE shop = :shop", args={"shop": 3})
    promote_by_hand(workload.store, *chain("one_shop", THREE))
    with tuned(session, "one_shop", workload) as query:
        assert query.sql(args={"shop": 3}).first().n == 106
    assert (query.policy, query.reason) == (THREE, "")
    assert session.conf.get("spark.sql.legacy.parameterSubstitution.constantsOnly") == "false"


def test_the_users_own_mistake_is_the_users_own_error(session: SparkSession, workload: Workload) -> None:
    broken = replace(workload, queries=(Query("broken", sql="SELECT nowhere FROM sales"),))
    promote_by_hand(workload.store, *chain("broken", THREE))
    with pytest.raises(AnalysisException):
        tuned(session, "broken", broken).sql()


def test_a_failed_run_is_recorded_as_failed(session: SparkSession, workload: Workload) -> None:
    text = "SELECT raise_error('no such luck') AS e FROM sales"
    failing = replace(workload, queries=(Query("failing", sql=text),))
    with pytest.raises(PySparkException, match="no such luck"), tuned(session, "failing", failing) as query:
        query.sql().collect()
    (row,) = production(workload)
    assert row["status"] == "failed"
    assert "no such luck" in row["note"]


# Policies that cannot be applied


def test_a_setting_outside_the_catalogue_means_original(session: SparkSession, workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("by_shop", Policy.of({"spark.sql.no.such.setting": "1"})))
    with tuned(session, "by_shop", workload) as query:
        assert sum(counts(query.sql()).values()) == 1800
    assert query.reason.startswith("PLN-409 query by_shop: generation 1 is not applied: ")
    (row,) = production(workload)
    assert row["policy_id"] == ORIGINAL.id
    assert "spark.sql.no.such.setting is not in the knob catalogue" in row["note"]


def test_a_setting_that_may_change_results_is_not_applied_though_the_hashes_fit(
    session: SparkSession, workload: Workload
) -> None:
    own = session.conf.get("spark.sql.ansi.enabled")
    other = "false" if own == "true" else "true"
    promote_by_hand(workload.store, *chain("by_shop", THREE, Policy.of({"spark.sql.ansi.enabled": other})))
    query = tuned(session, "by_shop", workload)
    frame = query.sql()
    assert frame.sparkSession.conf.get("spark.sql.ansi.enabled") == own
    assert (query.policy, query.reason[:7]) == (ORIGINAL, "PLN-409")
    assert sum(counts(frame).values()) == 1800


def test_a_hint_that_finds_its_join_is_in_the_plan(session: SparkSession, workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("cities", MERGED))
    with tuned(session, "cities", workload) as query:
        frame = query.sql()
        assert "SortMergeJoin" in plan_of(frame)
        assert sum(counts(frame).values()) == 1800
    assert production(workload)[0]["policy_id"] == MERGED.id


def test_a_hint_without_its_join_means_original(session: SparkSession, workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("by_shop", Policy.of(dict(THREE.settings), hints=["merge(join4.left)"])))
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

    monkeypatch.setattr("planopt_assets.engine.user_job.policy_session.copy_of", refuse)
    session.range(3).withColumnRenamed("id", "shop").createOrReplaceTempView("sales")
    promote_by_hand(workload.store, *chain("by_shop", THREE))
    query = tuned(session, "by_shop", workload)
    assert counts(query.sql()) == {0: 1, 1: 1, 2: 1}
    assert query.run(lambda mine: mine is session)
    assert query.reason == "the policy cannot be applied: AttributeError: cloneSession"


# Commands, and jobs inside jobs


def test_a_declared_command_that_fails_is_run_once(session: SparkSession, workload: Workload, tmp_path: Path) -> None:
    session.sql("CREATE TEMP VIEW numbers AS SELECT id FROM range(3)")
    text = f"INSERT OVERWRITE DIRECTORY '{tmp_path / 'out'}' USING parquet SELECT raise_error('no') AS e FROM numbers"
    failing = replace(workload, queries=(Query("failing", sql=text),))
    query = tuned(session, "failing", failing)
    executions = [Executions(session).newest()]
    for run in (lambda: session.sql(text), query.sql):
        with pytest.raises(PySparkException, match="no"):
            run()
        executions.append(Executions(session).newest())
    start, once, both = executions
    assert both - once == once - start > 0
    assert query.reason == "the policy cannot be applied: the text is no plain query, so it runs once, in your session"


def test_a_declared_command_runs_once_as_the_user_wrote_it(
    session: SparkSession, workload: Workload, tmp_path: Path
) -> None:
    session.range(3).write.format("delta").save(str(tmp_path / "log"))
    text = f"INSERT INTO delta.`{tmp_path / 'log'}` SELECT id FROM range(5)"
    inserting = replace(workload, queries=(Query("inserting", sql=text),))
    promote_by_hand(workload.store, *chain("inserting", THREE))
    tuned(session, "inserting", inserting).sql()
    assert session.read.format("delta").load(str(tmp_path / "log")).count() == 8


def test_a_job_inside_a_job_starts_from_the_users_session(session: SparkSession, workload: Workload) -> None:
    session.conf.set("spark.sql.shuffle.partitions", "11")
    outer = Policy.of({**dict(THREE.settings), **dict(SPLITS.settings)})
    promote_by_hand(workload.store, *chain("cities", outer))
    promote_by_hand(workload.store, *chain("by_shop", Policy.of({"spark.sql.files.openCostInBytes": "4194303"})))
    seen = []

    def job(copy: SparkSession) -> None:
        seen.append([copy.conf.get(name) for name, _ in THREE.settings])
        copy.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")  # the job's own, so the inner query has it
        inner = tuned(copy, "by_shop", workload).sql()
        other = tuned(copy, "one_shop", workload).sql()
        for frame in (inner, other):
            own = frame.sparkSession
            seen.append([own.conf.get(name) for name, _ in THREE.settings])
            assert own.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
            assert own_value(own, "spark.sql.files.minPartitionNum") is None
        assert splits_of(other) > 1  # its tables are not read as the outer policy says
        assert inner.sparkSession.conf.get("spark.sql.files.openCostInBytes") == "4194303"

    query = tuned(session, "cities", workload)
    query.run(job)
    assert (query.reason, seen) == ("", [["3"], ["11"], ["11"]])
