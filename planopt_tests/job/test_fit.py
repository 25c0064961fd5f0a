"""`tuned` applies a policy only where its evidence fits: tables, session, parameter values; else it says why not."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from planopt_assets import tuned
from planopt_assets.engine.delta.pins import Pins
from planopt_assets.engine.user_job.session_facts import session_circumstances
from planopt_assets.model.conditions import Circumstances
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Workload
from planopt_assets.promote.dependence import COMPARED, conditions_of
from planopt_assets.store import control_claims
from planopt_tests.job.user_job import BY_SHOP, THREE, counts, plan_of, production
from planopt_tests.promoted import chain, promote_by_hand

pytestmark = pytest.mark.spark

BOTH = Policy.of({"spark.sql.shuffle.partitions": "3", "spark.sql.files.openCostInBytes": "1"})


def here(session: SparkSession, workload: Workload, *names: str) -> Circumstances:
    """What a loop in this very session would have recorded."""
    states = [Pins().state(t.name, str(t.path)) for t in workload.tables if t.name in (names or ("sales",))]
    return replace(session_circumstances(session, COMPARED), tables=tuple(states), parameters=("{}",))


def promote(
    workload: Workload,
    proven: Circumstances,
    policy: Policy = THREE,
    query_id: str = "by_shop",
    joins: Sequence[Any] = (),
) -> None:
    promote_by_hand(workload.store, *chain(query_id, policy, conditions=conditions_of(policy, proven, joins)))


def runs_as_original(query: Any, reason: str) -> None:
    assert query.policy == ORIGINAL
    assert reason in query.reason
    assert query.facts()["applied"] is False


def test_where_everything_fits_the_policy_is_applied(session: SparkSession, workload: Workload) -> None:
    promote(workload, here(session, workload))
    query = tuned(session, "by_shop", workload)
    assert ", 3), ENSURE" in plan_of(query.sql())
    assert (query.policy, query.reason) == (THREE, "")


def test_a_table_that_outgrew_the_evidence(session: SparkSession, workload: Workload, tables: Path) -> None:
    promote(workload, here(session, workload))
    grown = session.range(500_000).selectExpr("id AS shop", "uuid() AS note", "id AS id")
    grown.write.format("delta").mode("append").option("mergeSchema", "true").save(str(tables / "data" / "sales"))
    query = tuned(session, "by_shop", workload)
    assert ", 200), ENSURE" in plan_of(query.sql())
    runs_as_original(query, "generation 1 is suspended: spark.sql.shuffle.partitions was proven with ")


def test_another_number_of_cores_leaves_out_the_parts_that_depend_on_it(
    session: SparkSession, workload: Workload
) -> None:
    promote(workload, replace(here(session, workload), cores=64), BOTH)
    with tuned(session, "by_shop", workload) as query:
        frame = query.sql()
        assert ", 200), ENSURE" in plan_of(frame)
        assert frame.sparkSession.conf.get("spark.sql.files.openCostInBytes") == "1"
        counts(frame)
    kept = Policy.of({"spark.sql.files.openCostInBytes": "1"})
    assert (query.policy, query.facts()["applied"]) == (kept, False)
    assert "spark.sql.shuffle.partitions was proven on 64 cores, here are 2" in query.reason
    (row,) = production(workload)
    assert row["policy_id"] == kept.id


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"engine": "delta 4.4.0, java 17, spark 4.1.0"}, "it was proven with delta 4.4.0, java 17, spark 4.1.0"),
        (
            {"settings": (("spark.sql.adaptive.enabled", "false"),)},
            "it was proven with spark.sql.adaptive.enabled=false, which is true here",
        ),
        ({"cores": 64}, "was proven on 64 cores"),
    ],
    ids=["engine", "settings", "cores"],
)
def test_evidence_from_elsewhere(
    session: SparkSession, workload: Workload, changes: dict[str, Any], reason: str
) -> None:
    promote(workload, replace(here(session, workload), **changes))
    query = tuned(session, "by_shop", workload)
    assert sum(counts(query.sql()).values()) == 1800
    runs_as_original(query, reason)


def test_a_setting_of_the_users_session_that_shapes_plans(session: SparkSession, workload: Workload) -> None:
    promote(workload, here(session, workload))
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    query = tuned(session, "by_shop", workload)
    query.sql()
    runs_as_original(query, "it was proven with spark.sql.autoBroadcastJoinThreshold=10485760, which is -1 here")


def test_another_spelling_of_a_setting_and_one_that_the_policy_sets_itself_do_not_matter(
    session: SparkSession, workload: Workload
) -> None:
    promote(workload, here(session, workload))
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "10m")
    session.conf.set("spark.sql.shuffle.partitions", "64")
    query = tuned(session, "by_shop", workload)
    assert ", 3), ENSURE" in plan_of(query.sql())
    assert query.reason == ""


@pytest.mark.parametrize("kind", ["filtered", "computed", "renamed", "cast", "older", "local", "another table"])
def test_a_name_that_means_something_else(session: SparkSession, workload: Workload, tables: Path, kind: str) -> None:
    promote(workload, here(session, workload))
    reader = session.read.format("delta")
    meaning = {
        "filtered": lambda: reader.load(str(tables / "data" / "sales")).where("shop > 3"),
        "computed": lambda: reader.load(str(tables / "data" / "sales")).selectExpr("id", "shop % 2 AS shop"),
        "renamed": lambda: reader.load(str(tables / "data" / "sales")).selectExpr("shop AS id", "id AS shop"),
        "cast": lambda: reader.load(str(tables / "data" / "sales")).selectExpr("id", "CAST(shop AS STRING) AS shop"),
        "older": lambda: reader.option("versionAsOf", 0).load(str(tables / "data" / "sales")),
        "local": lambda: session.createDataFrame([(1, 7)], "shop bigint, id bigint"),
        "another table": lambda: reader.load(str(tables / "data" / "shops")),
    }
    meaning[kind]().createOrReplaceTempView("sales")
    query = tuned(session, "by_shop", workload)
    query.sql()
    runs_as_original(query, "sales is not the table it was proven on")
    found = query.run(lambda copy: copy.conf.get("spark.sql.shuffle.partitions"))
    assert found == "200"


@pytest.mark.parametrize("columns", ["*", "shop, id", "`SHOP`"])
def test_a_view_that_only_reads_the_table_is_the_table(
    session: SparkSession, workload: Workload, tables: Path, columns: str
) -> None:
    promote(workload, here(session, workload))
    source = str(tables / "data" / "sales")
    if columns == "*":
        session.read.format("delta").load(source).createOrReplaceTempView("sales")
    else:
        session.sql(f"CREATE OR REPLACE TEMP VIEW sales AS SELECT {columns} FROM delta.`{source}`")
    query = tuned(session, "by_shop", workload)
    query.sql()
    assert (query.policy, query.reason) == (THREE, "")


def test_a_frame_over_other_tables(session: SparkSession, workload: Workload, tables: Path) -> None:
    promote(workload, here(session, workload))
    reader = session.read.format("delta")
    query = tuned(session, "by_shop", workload)
    query.frame(reader.load(str(tables / "data" / "sales")).groupBy("shop").count())
    assert (query.policy, query.reason) == (THREE, "")
    query.frame(reader.load(str(tables / "data" / "shops")).groupBy("shop").count())
    runs_as_original(query, "the frame does not read exactly the tables that it was proven on")


def test_parameter_values_that_nobody_tried(session: SparkSession, workload: Workload) -> None:
    promote(workload, replace(here(session, workload), parameters=('{"shop": 3}',)), query_id="one_shop")
    query = tuned(session, "one_shop", workload)
    query.sql()  # the declared ones
    assert (query.policy, query.reason) == (THREE, "")
    query.sql(args={"shop": 4})
    runs_as_original(query, "it was never tried with these parameter values")
    query.frame(session.read.format("delta").load(str(workload.tables[0].path)).where("shop = 3"))
    runs_as_original(query, "its parameter values are not known")
    willing = replace(workload, queries=tuple(replace(q, any_values=True) for q in workload.queries))
    query = tuned(session, "one_shop", willing)
    query.sql(args={"shop": 4})
    assert (query.policy, query.reason) == (THREE, "")


def test_a_run_that_would_not_have_run_under_the_policy_is_no_control(
    session: SparkSession, workload: Workload, tables: Path
) -> None:
    """A job over a part of the rows, or in another session, is no measure for the runs under the policy."""
    always = replace(workload, control_share=1.0)
    promote(workload, here(session, workload))
    small = session.newSession()
    small.read.format("delta").load(str(tables / "data" / "sales")).where("shop > 3").createOrReplaceTempView("sales")
    elsewhere = session.newSession()
    elsewhere.conf.set("spark.sql.adaptive.enabled", "false")

    def job(copy: SparkSession) -> DataFrame:
        return copy.read.format("delta").load(str(tables / "data" / "sales")).groupBy("shop").count()

    told = []
    for user, reason in ((small, "sales is not the table it was proven on"), (elsewhere, "adaptive.enabled=true")):
        control_claims._LAST.clear()
        shutil.rmtree(Path(workload.store) / control_claims.FOLDER, ignore_errors=True)
        with tuned(user, "by_shop", always) as query:
            query.sql().collect()
            query.run(job).collect()
        runs_as_original(query, reason)
        told.append(query.facts()["control"])
    control_claims._LAST.clear()
    shutil.rmtree(Path(workload.store) / control_claims.FOLDER)
    with tuned(session, "by_shop", always) as query:
        query.sql().collect()
        query.run(job).collect()
        assert [*told, query.facts()["control"]] == [False, False, True]
        query.run(lambda copy: copy.read.format("delta").load(str(tables / "data" / "shops"))).collect()
    runs_as_original(query, "the frame does not read exactly the tables that it was proven on")
    rows = [(r["policy_id"], r["control"]) for r in production(workload)]
    assert rows == [*[(ORIGINAL.id, False)] * 4, *[(ORIGINAL.id, True)] * 2, (ORIGINAL.id, False)]


def test_little_memory_leaves_out_a_broadcast(session: SparkSession, workload: Workload) -> None:
    hinted = Policy.of({"spark.sql.files.openCostInBytes": "1"}, hints=["broadcast(join0.right p)"])
    proven = replace(here(session, workload, "sales", "shops"), memory=(("driver_memory", 1 << 50),))
    promote(workload, proven, hinted, "cities")
    query = tuned(session, "cities", workload)
    query.sql()
    assert query.policy == Policy.of({"spark.sql.files.openCostInBytes": "1"})
    assert "broadcast(join0.right p) was proven with 1,125,899,906,842,624 bytes of driver_memory" in query.reason


def test_a_pin_rests_on_no_evidence(session: SparkSession, workload: Workload) -> None:
    session.conf.set("spark.sql.adaptive.enabled", "false")
    promote_by_hand(workload.store, *chain("by_shop", THREE, state="fixed"))
    query = tuned(session, "by_shop", workload)
    query.sql(BY_SHOP)
    assert (query.policy, query.reason) == (THREE, "")
