"""What observations with real Spark bring to light, what one bad table does, and what must never be stored."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.observe import observe
from planopt_assets.model import redaction
from planopt_assets.model.policy import Policy
from planopt_assets.model.workload import Query
from planopt_assets.observe.plans.estimates import misled_joins
from planopt_assets.observe.plans.stored_plan import unpack
from planopt_assets.store.schemas import TABLES
from planopt_assets.workload.secrets import learn_secrets
from planopt_tests.conftest import workload_of
from planopt_tests.observe.observed import QUERIES, gates, observed, one
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.spark


def test_a_query_that_asks_for_a_version_of_its_own_reads_another_one_than_the_pinned(
    spark: SparkSession, tables: Path
) -> None:
    sales = tables / "data" / "sales"
    query = Query("by_path", sql=f"SELECT count(id) AS n FROM delta.`{sales}` VERSION AS OF 3 WHERE amount > 1")
    workload = workload_of(tables, [query])
    observed(workload)
    gate = gates(workload, "native_scan")["by_path"]
    assert (gate.passed, gate.severe) == (False, True)
    assert "read at version 3, pinned is 5" in gate.words


def test_a_cast_on_the_column_is_a_finding_with_its_rewrite(spark: SparkSession, tables: Path) -> None:
    query = Query("cast_away", sql="SELECT count(*) AS n FROM sales WHERE cast(id AS string) = '17'")
    workload = workload_of(tables, [query])
    observed(workload)
    gate = gates(workload, "pushdown_effective")["cast_away"]
    assert (gate.passed, gate.severe) == (False, False)
    assert "cast" in gate.words.lower()


def test_a_dropped_column_breaks_the_contract_and_a_new_one_does_not(spark: SparkSession, tables: Path) -> None:
    workload = workload_of(tables, [Query("cities", sql="SELECT city FROM shops WHERE shop = 3")])
    observed(workload)
    shops = tables / "data" / "shops"
    write_deltalake(shops, pa.table({"shop": [3], "city": ["c1"], "zip": ["9"]}), mode="append", schema_mode="merge")
    observed(workload)
    gate = gates(workload, "contract_kept")["cities"]
    assert gate.passed
    assert "zip" in gate.details
    write_deltalake(shops, pa.table({"city": ["c1"], "shop": ["3"]}), mode="overwrite", schema_mode="overwrite")
    observed(workload)
    gate = gates(workload, "contract_kept")["cities"]
    assert (gate.passed, gate.severe) == (False, True)


def test_a_table_with_an_unknown_reader_feature_stops_only_the_queries_that_name_it(
    spark: SparkSession, tables: Path
) -> None:
    log = tables / "data" / "shops" / "_delta_log"
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["fromTheFuture"],
        "writerFeatures": ["fromTheFuture"],
    }
    (log / f"{1:020d}.json").write_text(json.dumps({"protocol": protocol}) + "\n")
    workload = workload_of(tables, [QUERIES[0], QUERIES[1]])
    observed(workload)
    assert one(workload, "plan_artifacts", query_id="by_shop")["status"] == "captured"
    refused = one(workload, "plan_artifacts", query_id="joined")
    assert (refused["status"], refused["error_code"]) == ("refused", "PLN-212")
    assert "fromTheFuture" in refused["error"]
    found = gates(workload, "protocol_compatible")
    assert found["by_shop"].passed
    assert (found["joined"].passed, found["joined"].severe) == (False, True)
    assert (
        observe(Run(Workspace(workload), str(uuid.uuid4())), ["joined"])[0].changed is False
    )  # known, not tried again


def test_a_plan_that_differs_each_time_is_not_deterministic(spark: SparkSession, tables: Path) -> None:
    (tables / "changing.py").write_text(
        "from pathlib import Path\n"
        "def build(spark):\n"
        "    calls = Path(__file__).with_suffix('.calls')\n"
        "    calls.write_text(calls.read_text() + 'x' if calls.exists() else 'x')\n"
        "    frame = spark.table('sales').groupBy('shop').count()\n"
        "    return frame.filter('count > 1') if len(calls.read_text()) % 2 else frame\n"
    )
    workload = workload_of(tables, [Query("changing", python="changing:build")], allow_python=True)
    observed(workload)
    gate = gates(workload, "deterministic")["changing"]
    assert (gate.passed, gate.severe) == (False, True)
    assert "analyzed" in gate.words
    assert "topology" in gate.words


def test_a_secret_reaches_no_table_no_progress_and_no_error(spark: SparkSession, tables: Path) -> None:
    query = Query("keyed", sql="SELECT count(*) AS n FROM sales WHERE note = /* secret */ 'hunter2-in-sql'")
    refused = Query("jdbc", sql="SELECT * FROM jdbc.`jdbc:postgresql://db/x?user=me&password=hunter2-in-url`")
    bound = Query(
        "bound",
        sql="SELECT count(*) AS n FROM sales WHERE note = :api_key",
        bindings=((("api_key", "hunter2-bound"),),),
    )
    workload = workload_of(tables, [query, refused, bound], capture="debug")
    before = set(redaction._known)
    try:
        learn_secrets(replace(workload, spark_settings=(("spark.hadoop.fs.s3a.secret.key", "hunter2-in-conf"),)))
        told: list[str] = []
        run = Run(Workspace(workload), str(uuid.uuid4()), progress=lambda *words: told.append(" ".join(words)))
        told += [f"{r.summary} {r.markdown}" for r in observe(run, [q.id for q in workload.queries])]
    finally:
        redaction._known.clear()
        redaction._known.update(before)
    assert "hunter2" not in "\n".join(told)
    reader = StoredRows(workload.store, workload.name)
    assert one(workload, "plan_artifacts", query_id="jdbc")["status"] == "refused"
    for name in TABLES:
        for row in reader.rows(name):
            for column, value in row.items():
                text = str(unpack(value)) if isinstance(value, bytes) else str(value)
                assert "hunter2" not in text, (name, column)
    assert "***" in one(workload, "plan_artifacts", query_id="keyed")["canonical_sql"]


def test_an_estimate_on_the_wrong_side_of_the_threshold_is_found_and_a_right_one_is_not(
    spark: SparkSession, tables: Path
) -> None:
    grouped = (
        "SELECT a.id FROM sales a JOIN (SELECT shop, max(amount) AS m FROM sales GROUP BY shop) g ON a.amount = g.m"
    )
    query = Query("few", sql=grouped)
    workspace = Workspace(workload_of(tables, [query]))
    for threshold, misled in ((2000, True), (-1, False), (200, False)):
        policy = Policy.of({"spark.sql.autoBroadcastJoinThreshold": str(threshold)})
        done = workspace.execute(query, 0, workspace.arm(policy), timeout_s=60, tier="always_on")
        assert done.initial is not None
        found = misled_joins(done.initial, done.final, threshold)
        assert bool(found) == misled, (threshold, found)
        assert all(m.actual < threshold < m.estimated for m in found)


def test_a_changed_predicate_is_named_and_another_spelling_is_no_change(spark: SparkSession, tables: Path) -> None:
    texts = (
        "SELECT shop, amount FROM sales WHERE amount > 10",
        "select s.shop, S.amount -- the same\n  from sales s where s.amount > 10",
        "SELECT shop, amount FROM sales WHERE amount > 11",
    )
    for sql in texts:
        workload = workload_of(tables, [Query("written", sql=sql)], debug_sample=0.0)
        observed(workload)
    rows = StoredRows(workload.store, workload.name).rows("plan_artifacts")
    # The second spelling stands on what is known of the first.
    assert [r["edits"] for r in rows] == [[], ["predicate: amount > 10 -> amount > 11"]]
    assert rows[0]["canonical_fingerprint"] != rows[1]["canonical_fingerprint"]


def test_what_is_read_beside_tables_is_an_input_with_its_source(spark: SparkSession, tables: Path) -> None:
    sql = "SELECT v.n FROM VALUES (1), (2) AS v(n) JOIN range(3) r ON v.n = r.id WHERE v.n IN (SELECT shop FROM shops)"
    workload = workload_of(tables, [Query("inline", sql=sql)], debug_sample=0.0)
    observed(workload)
    schemas = json.loads(one(workload, "plan_artifacts")["output_schema"])
    inputs = {(r["relation"], r["source"], r["column"]) for r in schemas if r["side"] == "input"}
    assert inputs >= {("inline 1", "inferred", "n"), ("inline 2", "declared", "id"), ("shops", "table", "shop")}
