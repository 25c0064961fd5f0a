"""Frames and jobs of the user's own: called once, under a whole policy or as original, with a row for each action."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from planopt_assets import tuned
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Workload
from planopt_tests.job.user_job import (
    ARROW_ON,
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
    promote_by_hand(workload.store, *chain("cities", THREE.merged(MERGED)))
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
    promote_by_hand(workload.store, *chain("cities", Policy.of(dict(THREE.settings), hints=["merge(join4.left)"])))
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
    promote_by_hand(workload.store, *chain("built", Policy.of(settings, hints=["merge(join4.left)"])))
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
    promote_by_hand(workload.store, *chain("cities", THREE.merged(MERGED)))
    query = tuned(session, "cities", workload)
    given: list[str | None] = []
    job = counting_job(str(Path(str(workload.tables[0].path)).parent), given)
    assert len(query.run(lambda copy: job(copy).collect())) > 0
    assert given == ["200"]
    assert "hints need a frame" in query.reason
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
